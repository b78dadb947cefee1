"""The ASGI application, for a host that wants one; the site itself is served over WSGI."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

application = get_asgi_application()
