"""Writing a file a user named."""

import contextlib
import os
import tempfile
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write the file at once: a reader finds the old text or the new one, never half of it. OSError."""
    folder = path.parent
    if path.exists() and not path.is_file():
        # /dev/stdout and the like cannot be replaced, only written to.
        path.write_text(text, encoding="utf-8")
        return
    handle, scratch = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(scratch).chmod(0o666 & ~mask)
        Path(scratch).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(scratch).unlink()
        raise
