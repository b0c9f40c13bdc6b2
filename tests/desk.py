"""The desk of the tests: a folder whose name has a space, an empty home, and commands that are typed there."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import commands

KEYS = {
    "OPENAI_API_KEY": "sk-tried-at-a-desk",
    "ANTHROPIC_API_KEY": "sk-ant-tried-at-a-desk",
    "AWS_ACCESS_KEY_ID": "AKIATRIEDATADESK",
    "AWS_SECRET_ACCESS_KEY": "tried at a desk",
}
_OURS = re.compile(rb"(?:(?<=\n)|^)reenact:   [^\n]*\n|reenact: [^\n]*\n?")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Attributes:
        code: Its exit status.
        out, err: What it wrote.
    """

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """What it wrote to standard output."""
        return self.out.decode()

    @property
    def told(self) -> str:
        """What it wrote to standard error."""
        return self.err.decode()

    @property
    def said(self) -> list[str]:
        """Our own lines on standard error."""
        return [line.decode().rstrip("\n") for line in _OURS.findall(self.err)]

    @property
    def visible(self) -> tuple[bytes, bytes]:
        """What the program itself wrote. Lines of a traceback that a replay says it left out count as written."""
        forgiven = any("stderr compared without" in line for line in self.said)
        return self.out, b"(compared without some lines)" if forgiven else _OURS.sub(b"", self.err)


class Desk:
    """Runs the public commands in one folder.

    Args:
        folder: An empty folder; the agents go below it.
        variables: Further environment variables for every command.
    """

    limit_s = 60
    """How long a command may take."""

    def __init__(self, folder: Path, variables: Mapping[str, str] | None = None) -> None:
        self.folder = folder / "a desk"
        self.folder.mkdir()
        (folder / "home").mkdir()
        self.environment = {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "AWS_EC2_METADATA_DISABLED": "true",
            "REENACT_HOLD_MS": "500",  # a machine that runs other things too may not get to a thread within 20
            **(variables or {}),
        }

    def run(self, *argv: str, stdin: bytes = b"", more: Mapping[str, str] | None = None) -> Ended:
        """Run any command here; it must end within its time."""
        done = commands.run(
            argv,
            cwd=self.folder,
            env={**self.environment, **(more or {})},
            input=stdin,
            capture_output=True,
            timeout=self.limit_s,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def record(self, command: Sequence[str], stdin: bytes = b"") -> Ended:
        """``reenact record -- COMMAND``, with the keys that SDKs demand."""
        return self.run("reenact", "record", "--", *command, stdin=stdin, more=KEYS)

    def replay(self, *options: str, more: Mapping[str, str] | None = None) -> Ended:
        """``reenact replay @``, without the keys."""
        return self.run("reenact", "replay", "@", *options, more=more)

    def differs(self, recorded: Ended, *options: str, more: Mapping[str, str] | None = None) -> str:
        """How a replay differs from what was ``recorded``; empty when it is the same to the byte.

        A machine that is too busy to prove the order of a replay has two more tries: what is seen of it must be the
        same each time, and a doubt that comes each time is the program's.
        """
        for attempt in range(3):
            replayed = self.replay(*options, more=more)
            found = unlike(recorded, replayed)
            if attempt == 2 or not _is_doubt_alone(recorded, replayed):
                break
        return found


def _is_doubt_alone(recorded: Ended, replayed: Ended) -> bool:
    last = "".join(replayed.said[-1:])
    doubted = replayed.code == 0 and "verdict: same, " in last and "not proven" in last
    return doubted and replayed.visible[0] == recorded.out


def unlike(recorded: Ended, replayed: Ended) -> str:
    """How a replay differs from its recording; empty when it is the same to the byte.

    On a busy machine a recording may have to say of itself that its order is not proven. Its replay says so too then,
    and all that is visible must still be the same.
    """
    last = replayed.said[-1] if replayed.said else "(said nothing)"
    verdict = "same, order not proven" if "order not proven" in "".join(recorded.said[-1:]) else "same (exact)"
    if replayed.code != 0 or f"verdict: {verdict}" not in last:
        return f"exit status {replayed.code}: " + "\n".join(replayed.said)
    out, err = replayed.visible
    if out != recorded.out:
        return f"other standard output: {recorded.out!r} and now {out!r}"
    if err not in (recorded.visible[1], b"(compared without some lines)"):
        return f"other standard error: {recorded.visible[1]!r} and now {err!r}"
    return ""
