"""The table of commands: with it, ``reenact --help`` lists the commands without importing them."""

from __future__ import annotations

from keyword import iskeyword
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One command.

    Attributes:
        name: The name that the user types.
        section: The heading in ``reenact --help`` under which it is listed.
        summary: One line for the group's help.
        about: For a command that is not available yet, the text on its future work. Empty for any other command, whose
            module has its help.
    """

    name: str
    section: str
    summary: str
    about: str = ""

    @property
    def available(self) -> bool:
        """Whether the command exists in this version."""
        return not self.about

    @property
    def module(self) -> str:
        """Module that defines the command."""
        return f"reenact.interfaces.cli.commands.{self.name}{'_' if iskeyword(self.name) else ''}"


_RECORD = "Record and look"
_REPLAY = "Replay and change"
_TEST = "Keep as tests"
_SHARE = "Share"
_STORE = "The store"
_PROJECT = "Project"

COMMANDS: tuple[CommandEntry, ...] = (
    CommandEntry("record", _RECORD, "run any Python program recorded"),
    CommandEntry("ls", _RECORD, "list runs, newest first"),
    CommandEntry("show", _RECORD, "a run as a story, or one event in detail"),
    CommandEntry("cat", _RECORD, "exact bytes of an event, or one field of it"),
    CommandEntry("flag", _RECORD, "mark a run with a person's verdict"),
    CommandEntry("tag", _RECORD, "label a run"),
    CommandEntry("mark", _RECORD, "a deploy as a line in time, to compare across"),
    CommandEntry("timeline", _RECORD, "the state at any event, and what changed it"),
    CommandEntry(
        "view",
        _RECORD,
        "the web page on loopback",
        "view [REF]: the web page of a store or run, on loopback, with a token.",
    ),
    CommandEntry("replay", _REPLAY, "re-execute a run's code, the world frozen"),
    CommandEntry("resume", _REPLAY, "continue an interrupted or failed run"),
    CommandEntry("fork", _REPLAY, "run on from an event with one thing changed"),
    CommandEntry("diff", _REPLAY, "where two runs part, and how they differ"),
    CommandEntry("resend", _REPLAY, "send one model call again"),
    CommandEntry("golden", _TEST, "turn runs into regression tests"),
    CommandEntry("experiment", _TEST, "every row on every candidate"),
    CommandEntry("kit", _TEST, "what a replay needs, present and missing"),
    CommandEntry("triage", _TEST, "failures and cold cases by what they share"),
    CommandEntry("pack", _SHARE, "one run as one file, redacted"),
    CommandEntry("unpack", _SHARE, "a packed run into the store"),
    CommandEntry("import", _SHARE, "recordings of other tools into the store"),
    CommandEntry("export", _SHARE, "a run in an open format"),
    CommandEntry("serve", _SHARE, "receive traces of OpenTelemetry as runs"),
    CommandEntry("push", _SHARE, "runs to another store", "push URL: runs of this store to another one."),
    CommandEntry("pull", _SHARE, "runs from another store", "pull URL: runs of another store into this one."),
    CommandEntry("textconv", _SHARE, "a packed run as text, for git diff"),
    CommandEntry(
        "vault",
        _STORE,
        "sealed originals: unlock, check, rotate keys",
        "vault unlock|check|rotate: the encrypted store of what redaction removed.",
    ),
    CommandEntry(
        "redact",
        _STORE,
        "remove personal data from what is stored",
        "redact REF: personal data out of what is stored already.",
    ),
    CommandEntry("erase", _STORE, "forget one user", "erase --user U: forget one user by deleting one key."),
    CommandEntry("gc", _STORE, "remove expired runs and give their space back"),
    CommandEntry("fsck", _STORE, "re-hash everything, name each break"),
    CommandEntry("salvage", _STORE, "save what a damaged store still holds"),
    CommandEntry("migrate", _STORE, "bring an old store to this version"),
    CommandEntry("stats", _STORE, "runs, bytes, tokens and cost, by what you choose"),
    CommandEntry("doctor", _PROJECT, "what would be captured here, and what not"),
    CommandEntry("config", _PROJECT, "each setting, its value and its origin"),
    CommandEntry("init", _PROJECT, "set a project up"),
    CommandEntry("demo", _PROJECT, "the guided tour"),
)

BY_NAME = {entry.name: entry for entry in COMMANDS}
