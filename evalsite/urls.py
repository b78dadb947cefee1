"""Every door of the site: the pages and the admin."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("experiments.web.urls")),
]
