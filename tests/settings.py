"""The site's own settings with a database, `var/` and Redis number that belong to this test process alone."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

_SCRATCH = tempfile.TemporaryDirectory(prefix="evalsite-tests-", ignore_cleanup_errors=True)
SCRATCH = Path(_SCRATCH.name)
os.environ["EVALSITE_VAR"] = str(SCRATCH / "var")

from evalsite.settings import *  # noqa: E402, F403
from evalsite.settings import BROKER_URL, DATABASES, LOGGING  # noqa: E402

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""The name of this process under pytest-xdist: "gw0", "gw1" ...; "" without it."""


def broker_of_worker(url: str, worker: str) -> str:
    """The same Redis with a database number of its own: the number in the URL plus the worker's."""
    parts = urlsplit(url)
    if parts.scheme == "memory":
        return url
    number = int(parts.path.strip("/") or 0) + int(worker.removeprefix("gw") or 0)
    return urlunsplit(parts._replace(path=f"/{number}"))


BROKER_URL = CELERY_BROKER_URL = broker_of_worker(BROKER_URL, WORKER)

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, never memory: in memory there is no WAL, and threads would share one lock.
    DATABASES["default"]["TEST"] = {"NAME": str(SCRATCH / "test.sqlite3")}
else:
    # Tests count connections and drop the database at the end; pytest-xdist appends its suffix to the name.
    DATABASES["default"]["OPTIONS"].pop("pool")
    DATABASES["default"]["TEST"] = {"NAME": f"test_{DATABASES['default']['NAME']}"}

# A deliberately fast hash: no test is about the strength of a password.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# The manifest needs a collected copy; that the real server has one is what the browser tests show.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_AUTOREFRESH = True
WHITENOISE_USE_FINDERS = True
# pytest's own handler collects the lines of a failed test.
LOGGING["root"]["handlers"] = []
