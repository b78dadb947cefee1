"""The pages of the site, under the namespace "web"."""

from experiments.web import signin

app_name = "web"
urlpatterns = [
    *signin.urlpatterns,
]
