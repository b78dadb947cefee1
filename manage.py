#!/usr/bin/env python
"""Django's command line for evalsite."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # A setting that cannot hold is the reader's to mend, not a fault of the program: no traceback.
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
