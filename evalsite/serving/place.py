"""The place the site runs in: a `var/` it can write and owns alone, and a port nobody else has."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from pathlib import Path
from typing import IO

from evalsite.serving import StartError

LOOPBACK = "127.0.0.1"


def writable(var: Path) -> None:
    """Make `var` (mode 700) and prove that a file can be written there. Raises StartError."""
    probe = var / f".probe-{os.getpid()}"
    try:
        var.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise StartError(f"{var} cannot be written ({error.strerror}); set EVALSITE_VAR elsewhere.") from None
    if var.stat().st_uid == os.getuid():
        var.chmod(0o700)


def claim(var: Path) -> IO[str]:
    """Hold `var/serve.lock` until the returned file is closed. Raises StartError when a site runs there."""
    file = (var / "serve.lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        other = file.read(20).strip() or "unknown"
        file.close()
        raise StartError(f"The site already runs on {var} (process {other}); stop it first.") from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def listen(port: int) -> socket.socket:
    """A bound socket on the loopback interface. Raises StartError when the port is not to be had."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Without it a restart would wait a minute for connections of the last run to fade.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((LOOPBACK, port))
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise StartError(f"Port {port} is busy; choose another: make run PORT={port + 1}") from None
        raise StartError(f"Port {port} cannot be opened ({error.strerror}).") from None
    return bound
