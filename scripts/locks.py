"""Compile ``requirements/*.in`` into pinned and hashed ``requirements/*.txt``, without a word about this machine.

    python scripts/locks.py               take over what is pinned, add what is missing
    python scripts/locks.py --upgrade     take the newest of everything

Run it on the oldest supported Python, whose set includes every back-port. The files name no index, no place and no
file of this machine; the script fails if one slips in.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORDER = ("build", "test", "runtime", "demo", "bench", "ray", "collector", "lint", "site", "locks")
OPTIONS = (
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-emit-trusted-host",
    "--no-emit-options",
    "--no-header",
    "--strip-extras",
    "--allow-unsafe",
    "--quiet",
)
FOREIGN = re.compile(r"://|^\s*-|\s/|@ ")


def main() -> int:
    """Compile each file; exit status 1 when one names a place."""
    bad = 0
    for name in ORDER:
        target = f"requirements/{name}.txt"
        command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, *sys.argv[1:], f"--output-file={target}"]
        subprocess.run(
            [*command, f"requirements/{name}.in"], check=True, cwd=ROOT, env={**os.environ, "PYTHONWARNINGS": "ignore"}
        )
        for line in (ROOT / target).read_text().splitlines():
            if FOREIGN.search(line.split("#")[0].replace("--hash=", "")):
                print(f"{target}: a place or option has slipped in: {line}", file=sys.stderr)
                bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
