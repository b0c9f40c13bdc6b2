"""Opens each file it is given in a process with 256 MiB of address space: how that went, and its work, in JSON.

Run as a program: ``python hostile.py FILE…``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from reenact.errors import ReenactError
from reenact.store.bundles import bundle_store
from reenact.store.bundles.text import text_of

MOST = 256 << 20


def shown(path: Path) -> str:
    """Everything that showing a bundle reads."""
    store = bundle_store(path)
    for run in store.runs():
        recording = store.open(run)
        for event in recording.events():
            recording.body(event.request)
            recording.body(event.answer)
        list(recording.deliveries())
    for _ in text_of(path):
        pass
    return "shown"


def main() -> None:
    """Open each file."""
    if sys.platform == "linux":  # elsewhere the limit is not there, or means nothing
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    for name in sys.argv[1:]:
        began = time.process_time()
        try:
            said = shown(Path(name))
        except ReenactError as error:
            said = f"{type(error).__name__}: {error.message}"
        print(json.dumps({"file": Path(name).name, "said": said, "seconds": time.process_time() - began}), flush=True)


if __name__ == "__main__":
    main()
