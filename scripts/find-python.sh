#!/bin/sh
# Print a Python that can make a virtual environment for this project: python3 if it is new enough, else the newest.
for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        echo "$candidate"
        exit 0
    fi
done
echo "no Python 3.11 or newer with venv and pip was found on PATH; install one, or name it: make PYTHON=/path/to/python" >&2
echo "false"
