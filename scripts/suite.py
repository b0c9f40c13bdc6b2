"""Run the suite; what failed beside others is run once more, alone, and named.

Many tests wait for real processes, signals and time-outs, and a machine that does four things at once may not get to
one of them for seconds. A test that fails alone too is broken. One that passes there is unsteady: it is named at the
end, because the next engineer has to know of it, and it does not hide behind a green run.

    scripts/suite.py -n auto --dist loadfile tests
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_FAILED = Path(".pytest_cache/v/cache/lastfailed")
_SOME_FAILED = 1
_MOST = 40
"""Tests that are run again, at most: where more fail, the machine is not the reason."""


def main(words: list[str]) -> int:
    """Run pytest with ``words``, and again for the few that failed; gives the exit status."""
    pytest = [sys.executable, "-m", "pytest"]
    _FAILED.unlink(missing_ok=True)
    status = subprocess.call([*pytest, *words])
    if status != _SOME_FAILED:
        return status
    failed = sorted(json.loads(_FAILED.read_text())) if _FAILED.exists() else []
    if not 0 < len(failed) <= _MOST:
        return status
    print(f"\nonce more, alone: {len(failed)} that failed beside others\n", flush=True)
    again = subprocess.call([*pytest, "--last-failed", "--last-failed-no-failures", "none", "-n", "0"])
    if again == 0:
        print("\nunsteady: failed beside others, passed alone")
        print("\n".join(f"UNSTEADY {name}" for name in failed), flush=True)
    return again


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
