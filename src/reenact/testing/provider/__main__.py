"""``python -m reenact.testing.provider``: the scripted provider as a process that prints its base URL.

It ends when its standard input closes. With ``--detached`` it does not watch the input, and ends when no request
has come for a while.
"""

from __future__ import annotations

import argparse
import math
import os
import runpy
import sys
import threading
from collections.abc import Sequence

from reenact.testing.provider.script import Script
from reenact.testing.provider.server import ScriptedProvider

_DETACHED_S = 600.0


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the last client is gone.

    Args:
        argv: The arguments; those of the process when None.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m reenact.testing.provider", description="A scripted provider; not a model."
    )
    parser.add_argument("--script", help="Python file that defines SCRIPT; without one, models improvise")
    parser.add_argument("--day", type=int, default=1, help="the world's first day")
    parser.add_argument(
        "--idle-limit", type=float, metavar="S", help="end after S seconds without a request; 600 with --detached"
    )
    parser.add_argument("--detached", action="store_true", help="do not end with standard input, only when idle")
    options = parser.parse_args(argv)
    limit = options.idle_limit
    if limit is None:
        limit = _DETACHED_S if options.detached else math.inf
    script = _script(options.script) if options.script else Script()
    over = threading.Event()
    with ScriptedProvider(script, day=options.day) as provider:
        if not options.detached:
            threading.Thread(target=_wait_for_end_of_input, args=(over,), daemon=True).start()
        print(provider.url, flush=True)
        while not over.wait(min(1.0, max(0.01, limit - provider.idle_s()))):
            if provider.idle_s() >= limit:
                break
    return 0


def _script(file: str) -> Script:
    found = runpy.run_path(file).get("SCRIPT")
    if not isinstance(found, Script):
        raise SystemExit(f"{file} defines no SCRIPT that is a reenact.testing.provider.Script")
    return found


def _wait_for_end_of_input(over: threading.Event) -> None:
    try:
        # Not through ``sys.stdin``: a thread that waits in it holds its lock, and the interpreter would abort at its
        # end.
        while os.read(0, 4096):
            pass
    finally:
        over.set()


if __name__ == "__main__":
    sys.exit(main())
