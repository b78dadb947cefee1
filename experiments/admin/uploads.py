"""Files people upload, handed to the importers, which read files by their path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from django.core.files.uploadedfile import UploadedFile

from experiments.evaluation.text import printable
from experiments.transfer.problems import FileRefusedError

Read = TypeVar("Read")


def read_upload(upload: UploadedFile[bytes], read: Callable[[Path], Read]) -> Read:
    """What `read` makes of the uploaded file; problems name it as the user did.

    The user's name for the file never becomes a path: only whether it ends in .json is kept.
    """
    name = printable(upload.name or "file", 200)
    suffix = ".json" if name.lower().endswith(".json") else ".yaml"
    with TemporaryDirectory(prefix="evalsite-upload-") as folder:
        path = Path(folder) / f"upload{suffix}"
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
        try:
            return read(path)
        except FileRefusedError as refused:
            raise FileRefusedError(replace(problem, file=name) for problem in refused.problems) from refused
