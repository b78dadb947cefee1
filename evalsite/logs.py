"""Logging: one JSON object a line into `var/log`, secrets replaced before anything is written."""

from __future__ import annotations

import logging
import logging.config
import logging.handlers
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import structlog

HIDDEN = "[redacted]"
SECRET_NAME = re.compile(
    r"token|secret|password|passwd|authorization|api[-_]?key|cookie|sessionid", re.IGNORECASE
)
# Counts of tokens are figures, not secrets.
TOKEN_COUNT = re.compile(r"tokens$", re.IGNORECASE)
SECRET_TEXT = re.compile(
    r"(?P<keep>\bBearer\s+|\bBasic\s+|x-api-key['\"]?\s*[:=]\s*['\"]?|[?&](?:token|sesame)=|://[^/\s:@]*:)"
    r"[^\s'\"&@,;]+|\bsk-[A-Za-z0-9_-]{8,}",
    re.IGNORECASE,
)
ENVIRONMENT_NAME = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|KEY)S?(_|$)")
SHORTEST_SECRET = 8


def environment_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of variables whose names say that they are secrets, longest first."""
    found = {
        value
        for name, value in environment.items()
        if ENVIRONMENT_NAME.search(name) and len(value) >= SHORTEST_SECRET
    }
    return tuple(sorted(found, key=len, reverse=True))


class Redaction:
    """A structlog processor that replaces secrets by name, by shape and by the values in the environment."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._values = environment_secrets(os.environ if environment is None else environment)

    def __call__(
        self, _logger: Any, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        return {key: self._value(str(key), value) for key, value in event.items()}

    def text(self, text: str) -> str:
        """The text with every secret in it replaced."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return SECRET_TEXT.sub(lambda match: f"{match['keep'] or ''}{HIDDEN}", text)

    def _value(self, key: str, value: Any) -> Any:
        if key.startswith("_"):
            return value
        if SECRET_NAME.search(key) and not TOKEN_COUNT.search(key) and value is not None:
            return HIDDEN
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {str(name): self._value(str(name), inner) for name, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._value("", inner) for inner in value]
        return self.text(value if isinstance(value, str) else str(value))


class PrivateFile(logging.handlers.RotatingFileHandler):
    """A log of at most 10 MB and three older ones, mode 600, made on the first line.

    A second process may rotate the same file: like WatchedFileHandler it reopens when the name
    points elsewhere.
    """

    def __init__(self, filename: str) -> None:
        super().__init__(filename, maxBytes=10_000_000, backupCount=3, encoding="utf-8", delay=True)
        # A lone surrogate in a line must not cost the line.
        self.errors = "backslashreplace"

    def _open(self) -> Any:
        directory = Path(self.baseFilename).parent
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        return super()._open()

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream is not None and self._moved():
            self.stream.close()
            self.stream = self._open()
        super().emit(record)

    def _moved(self) -> bool:
        assert self.stream is not None
        try:
            named, opened = os.stat(self.baseFilename), os.fstat(self.stream.fileno())
        except (OSError, ValueError):
            return True
        return (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino)


def _before_rendering() -> list[structlog.typing.Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def logging_config(path: Path, *, level: str, console: bool) -> dict[str, Any]:
    """The dictionary for `logging.config`: JSON lines to `path`, and to stderr when `console` is set."""
    handlers: dict[str, Any] = {
        "file": {"class": "evalsite.logs.PrivateFile", "filename": str(path), "formatter": "json"},
        "console": {"class": "logging.StreamHandler", "formatter": "json"},
    }
    used = ["file", "console"] if console else ["file"]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [*_before_rendering(), structlog.stdlib.ExtraAdder()],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    Redaction(),
                    structlog.processors.JSONRenderer(default=str),
                ],
            }
        },
        "handlers": {name: handlers[name] for name in used},
        "root": {"handlers": used, "level": level},
        "loggers": {
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            # Every request and every message of a busy run would drown what matters.
            "httpx": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            "celery": {"level": "WARNING"},
            "kombu": {"level": "WARNING"},
            "waitress": {"level": "WARNING"},
        },
    }


def configure(config: dict[str, Any]) -> None:
    """Django calls this once with LOGGING; structlog is joined to the same handlers."""
    logging.config.dictConfig(config)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_before_rendering(),
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
