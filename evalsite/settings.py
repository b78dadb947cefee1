"""Settings of the site. Each value from the environment goes through `evalsite.env`; see `docs/settings.md`.

Safe by default: DEBUG is off, and cookies, redirects and HSTS follow the scheme of EVALSITE_URL. Plain http
is meant for the own machine only: any other host with http is refused by the system check `evalsite.E002`.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from csp.constants import NONE, SELF

from evalsite import env, local
from evalsite.databases import database
from evalsite.logs import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env.text("EVALSITE_VAR", str(BASE_DIR / "var"))).absolute()
"""State of this installation: database, secret key, logs, collected static files. Mode 700."""

DEBUG = env.flag("DEBUG")
PORT = env.number("PORT", 8000, least=1, most=65535)
SITE_URL = env.url("EVALSITE_URL", f"http://127.0.0.1:{PORT}", ("http", "https"))
SECRET_KEY = env.text("SECRET_KEY") or local.secret_key(VAR_DIR)

# Who may talk to the site, and how.
_site = urlsplit(SITE_URL)
HTTPS = _site.scheme == "https"
LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = list(dict.fromkeys([_site.hostname or "", *LOOPBACK_HOSTS, *env.names("EVALSITE_HOSTS")]))
CSRF_TRUSTED_ORIGINS = [f"{_site.scheme}://{_site.netloc}"]
PROXIES = env.number("EVALSITE_PROXIES", 0, least=0, most=5)
"""How many reverse proxies of our own stand in front; only their X-Forwarded headers are believed."""

SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
_hsts_seconds = env.number("EVALSITE_HSTS_SECONDS", 31_536_000, least=0, most=63_072_000)
SECURE_HSTS_SECONDS = _hsts_seconds if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PROXIES else None
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "evalsite_session", "evalsite_csrf"

CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

INSTALLED_APPS = [
    "evalsite",
    "experiments",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_filters",
    "django_htmx",
    "django_structlog",
    "template_partials",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    # Last, as its manual asks: it turns a locked-out sign-in into its own answer.
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "evalsite.urls"
WSGI_APPLICATION = "evalsite.wsgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES = {"default": database(VAR_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Sign-in: a password (throttled) or a one-use link that the start of the site prints.
AUTH_USER_MODEL = "experiments.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "sesame.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "web:sign_in"
LOGIN_REDIRECT_URL = "web:home"
LOGOUT_REDIRECT_URL = "web:sign_in"
SESAME_TOKEN_NAME = "token"  # noqa: S105
SESAME_MAX_AGE = 600
SESAME_ONE_TIME = True
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "experiments.web.addresses.client_address"
AXES_LOCKOUT_CALLABLE = "experiments.web.signin.locked_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False

# Static files: collected into var/, hashed names, compressed once.
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024

# A team's own criterion kinds and metrics: a module by its dotted name (experiments.hooks).
EVALSITE_HOOKS = env.text("EVALSITE_HOOKS")

# Time and language.
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-gb"
USE_I18N = False

# Celery. Two queues: lane groups hold their thread for minutes, so quick tasks have threads of their own.
BROKER_URL = env.url("BROKER_URL", "memory://localhost", ("memory", "redis", "rediss"))
SWEEP_SECONDS = env.number("EVALSITE_SWEEP_SECONDS", 20, least=1, most=3600)
LEASE_SECONDS = env.number("EVALSITE_LEASE_SECONDS", 60, least=2, most=3600)
"""How long a claimed attempt is its lane group's without a sign of life."""
HEARTBEAT_SECONDS = env.number("EVALSITE_HEARTBEAT_SECONDS", 15, least=1, most=600)
"""How often a lane group gives that sign; three of them must fit into a lease (`evalsite.E010`)."""
GROUP_SECONDS = env.number("EVALSITE_GROUP_SECONDS", 600, least=5, most=3600)
"""A lane group claims attempts for this long at most, then its successor does."""
SLICE_SECONDS = env.number("EVALSITE_SLICE_SECONDS", 20, least=1, most=600)
"""A lane group keeps its thread this long at least while another run waits for one."""
VISIBILITY_SECONDS = env.number("EVALSITE_VISIBILITY_SECONDS", 3600, least=60, most=86_400)
LANES_THREADS = env.number("EVALSITE_LANES_THREADS", 4, least=1, most=64)
"""Lane groups that one worker process drives at a time."""
QUICK_THREADS = env.number("EVALSITE_QUICK_THREADS", 2, least=1, most=16)
CELERY_BROKER_URL = BROKER_URL
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    # The default of 1.0 s between polls gives a tenth of the speed.
    {"polling_interval": 0.02}
    if BROKER_URL.startswith("memory")
    else {
        "visibility_timeout": VISIBILITY_SECONDS,
        "health_check_interval": 25,
        "socket_keepalive": True,
        # A broker that does not answer at all must not hold up the request that starts a run.
        "socket_connect_timeout": 3,
    }
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 2, "interval_start": 0.1, "interval_max": 0.5}
CELERY_TASK_DEFAULT_QUEUE = "quick"
CELERY_TASK_QUEUES = {"lanes": {"routing_key": "lanes"}, "quick": {"routing_key": "quick"}}
CELERY_TASK_CREATE_MISSING_QUEUES = False
CELERY_TASK_ROUTES = {"experiments.execution.tasks.drive_lanes": {"queue": "lanes"}}
CELERY_TASK_SERIALIZER = "json"
CELERY_RESULT_ACCEPT_CONTENT = CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_RESULT_BACKEND = None
# Early: the message is only a hint, a killed worker's rows come back by the sweep. Late would hand a living
# group's message to a second worker once the visibility time-out passes, for nothing.
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A worker whose threads are busy must not sit on a message that an idle worker could take (Redis only).
CELERY_WORKER_DISABLE_PREFETCH = BROKER_URL.startswith("redis")
CELERY_WORKER_ENABLE_REMOTE_CONTROL = BROKER_URL.startswith("redis")
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_TIMEZONE = "UTC"
# Entries known at the start: a schedule in memory has no rows to migrate and no file to lock.
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"
CELERY_BEAT_SCHEDULE = {
    "sweep": {
        "task": "experiments.execution.tasks.sweep",
        "schedule": SWEEP_SECONDS,
        # A sweep that waited longer than its period is replaced by the next one.
        "options": {"expires": SWEEP_SECONDS},
    },
    "apply-gathered": {
        "task": "experiments.services.tasks.apply_gathered",
        "schedule": 20,
        "options": {"expires": 20},
    },
}

# Request ids are ours; the line that says a request began adds nothing to the one that says how it ended.
DJANGO_STRUCTLOG_TRUST_UPSTREAM_REQUEST_ID = False
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = logging.DEBUG
LOG_LEVEL = env.choice("EVALSITE_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOG_CONSOLE = env.flag("EVALSITE_LOG_CONSOLE")
LOG_NAME = env.text("EVALSITE_LOG_NAME", "evalsite")
LOGGING_CONFIG = "evalsite.logs.configure"
LOGGING = logging_config(VAR_DIR / "log" / f"{LOG_NAME}.log", level=LOG_LEVEL, console=LOG_CONSOLE)
