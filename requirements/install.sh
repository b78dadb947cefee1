#!/bin/sh
# Make the virtual environment from the pinned files: with uv (seconds), else with pip (a minute).
# usage: install.sh PYTHON VENV
set -eu
python=$1
venv=$2
cd "$(dirname "$0")/.."

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "evalsite needs Python 3.11 or newer; name one: make install PYTHON=python3.11" >&2
    exit 1
fi
if ! "$python" -m venv --help >/dev/null 2>&1; then
    echo "evalsite needs Python's venv module; on Debian: apt-get install python3-venv" >&2
    exit 1
fi

# A half-made environment of an interrupted install is made anew; a whole one is brought up to date in place.
if ! "$venv/bin/python" -c 'import pip' >/dev/null 2>&1; then
    "$python" -m venv --clear "$venv"
fi

uv=$(sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements/dev.txt)
if [ "${INSTALLER:-uv}" = uv ] && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$uv"; then
    "$venv/bin/uv" pip install --quiet --compile-bytecode --python "$venv/bin/python" --require-hashes -r requirements/dev.txt
else
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
fi
echo "Installed into $venv."
