"""What this installation keeps in `var/`: made on first use, readable by its owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import IO

from django.core.exceptions import ImproperlyConfigured


def private_directory(path: Path) -> Path:
    """Make the directory with mode 700 if it is not there. Raises ImproperlyConfigured in one sentence."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be made ({error.strerror}).") from None
    return path


def private_file(path: Path) -> IO[bytes]:
    """Open the file for appending, made with mode 600 in a directory with mode 700."""
    private_directory(path.parent)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def secret_key(var: Path) -> str:
    """The key that signs sessions: made once in `var/secret-key` (mode 600), the same ever after."""
    path = private_directory(var) / "secret-key"
    try:
        return path.read_text().strip() or _new_key(path)
    except FileNotFoundError:
        return _new_key(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{path} cannot be read ({error}).") from None


def _new_key(path: Path) -> str:
    # Written aside and linked into place: of two processes that start at once the first wins, whole.
    aside = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(64))
        if path.exists() and not path.read_text().strip():
            path.unlink()
        try:
            os.link(aside, path)
        except FileExistsError:
            pass
        finally:
            aside.unlink()
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be written ({error.strerror}).") from None
