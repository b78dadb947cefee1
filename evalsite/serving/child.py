"""Run a program that dies with its parent: `python -m evalsite.serving.child PARENT SIGNAL program ...`.

A step of its own before the program, because code between fork and exec is not safe in a parent with threads.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Ask the kernel for `SIGNAL` at the parent's death, then become the program."""
    parent, number, *program = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(number))
    # The parent may have died before the request stood.
    if os.getppid() != int(parent):
        sys.exit(1)
    os.execv(program[0], program)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
