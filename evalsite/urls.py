"""Every door of the site: the pages and the admin."""

from django.urls import include, path

from experiments.admin import site

urlpatterns = [
    path("admin/", site.urls),
    path("", include("experiments.web.urls")),
]
