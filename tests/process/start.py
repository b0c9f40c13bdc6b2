"""Runs a command booted with the session of these tests, and ends as it did: ``start.py INSTRUCTIONS RESULT CMD…``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from reenact.abc.sources import ENTROPY
from reenact.seams.boot import parent
from reenact.seams.boot.parent import Boot, choose_hash_seed, end_like, find_program, ignores_boot, run_program

_HERE = Path(__file__).resolve().parent
_SITECUSTOMIZE = f"""
import sys
real = {str(Path(parent.__file__).parent / "onpath" / "sitecustomize.py")!r}
if sys.version_info >= (3, 11) and __name__ == "sitecustomize":
    sys.path.insert(0, {str(_HERE)!r})
    try:
        import session
        sys.modules["reenact.recording.recording_process"] = sys.modules["reenact.replaying.replay_process"] = session
    except ImportError:
        pass
    sys.path.remove({str(_HERE)!r})
with open(real) as file:
    text = file.read()
exec(compile(text, __file__, "exec"))
"""


def main() -> None:
    """Boot the command and say on request what became of it."""
    instructions = json.loads(sys.argv[1])
    base = dict(os.environ)
    onpath = Path(sys.argv[2]).parent / "onpath"
    onpath.mkdir(exist_ok=True)
    (onpath / "sitecustomize.py").write_text(_SITECUSTOMIZE)
    parent._ONPATH = str(onpath)  # type: ignore[misc]
    with Boot(instructions, base, hash_seed=choose_hash_seed(base, ENTROPY)) as boot:
        status = run_program(find_program(sys.argv[3:], base.get("PATH")), boot.environment, close_fds=False)
        said = {"began": boot.began, "failure": boot.failure, "status": status, "option": ignores_boot(sys.argv[3:])}
        Path(sys.argv[2]).write_text(json.dumps({**said, "session": json.loads(boot.result or "null")}))
    end_like(status)


if __name__ == "__main__":
    main()
