"""Measure one case in a fresh process and print one line of JSON: ``python -m bench.child NAME SIZE``."""

from __future__ import annotations

import json
import os
import sys

from bench.cases import CASES, Absent


def main() -> None:
    """Run the case named on the command line; what it prints goes to standard error."""
    channel = os.dup(1)
    os.dup2(2, 1)
    try:
        answer: dict[str, object] = {"metrics": CASES[sys.argv[1]](int(sys.argv[2]))}
    except Absent as why:
        answer = {"absent": str(why)}
    os.write(channel, (json.dumps(answer) + "\n").encode())


if __name__ == "__main__":
    main()
