"""The table of commands: what the group's help shows without importing any of them."""

from __future__ import annotations

from keyword import iskeyword
from typing import NamedTuple


class Entry(NamedTuple):
    """One command.

    Attributes:
        name: What is typed.
        section: Heading it stands under in ``reenact --help``.
        summary: One line for the group's help.
        about: For a command that is not available yet, what it will do and how; empty otherwise (the module of a
            command that exists explains itself).
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

COMMANDS: tuple[Entry, ...] = (
    Entry("record", _RECORD, "run any Python program recorded"),
    Entry("ls", _RECORD, "list runs, newest first"),
    Entry("show", _RECORD, "a run as a story, or one event in detail"),
    Entry("cat", _RECORD, "exact bytes of an event, or one field of it"),
    Entry("flag", _RECORD, "mark a run with a person's verdict"),
    Entry("tag", _RECORD, "label a run"),
    Entry("mark", _RECORD, "a deploy as a line in time, to compare across"),
    Entry("timeline", _RECORD, "the state at any event, and what changed it"),
    Entry(
        "view",
        _RECORD,
        "the web page on loopback",
        "view [REF]: the web page of a store or run, on loopback, with a token.",
    ),
    Entry("replay", _REPLAY, "re-execute a run's code, the world frozen"),
    Entry("resume", _REPLAY, "continue an interrupted or failed run"),
    Entry("fork", _REPLAY, "run on from an event with one thing changed"),
    Entry("diff", _REPLAY, "where two runs part, and how they differ"),
    Entry("resend", _REPLAY, "send one model call again"),
    Entry("golden", _TEST, "turn runs into regression tests"),
    Entry("experiment", _TEST, "every row on every candidate"),
    Entry("kit", _TEST, "what a replay needs, present and missing"),
    Entry("triage", _TEST, "failures and cold cases by what they share"),
    Entry("pack", _SHARE, "one run as one file, redacted"),
    Entry("unpack", _SHARE, "a packed run into the store"),
    Entry("import", _SHARE, "recordings of other tools into the store"),
    Entry("export", _SHARE, "a run in an open format"),
    Entry("serve", _SHARE, "receive traces of OpenTelemetry as runs"),
    Entry("push", _SHARE, "runs to another store", "push URL: runs of this store to another one."),
    Entry("pull", _SHARE, "runs from another store", "pull URL: runs of another store into this one."),
    Entry("textconv", _SHARE, "a packed run as text, for git diff"),
    Entry(
        "vault",
        _STORE,
        "sealed originals: unlock, check, rotate keys",
        "vault unlock|check|rotate: the encrypted store of what redaction removed.",
    ),
    Entry(
        "redact",
        _STORE,
        "remove personal data from what is stored",
        "redact REF: personal data out of what is stored already.",
    ),
    Entry("erase", _STORE, "forget one user", "erase --user U: forget one user by deleting one key."),
    Entry("gc", _STORE, "remove expired runs and give their space back"),
    Entry("fsck", _STORE, "re-hash everything, name each break"),
    Entry("salvage", _STORE, "save what a damaged store still holds"),
    Entry("migrate", _STORE, "bring an old store to this version"),
    Entry("stats", _STORE, "runs, bytes, tokens and cost, by what you choose"),
    Entry("doctor", _PROJECT, "what would be captured here, and what not"),
    Entry("config", _PROJECT, "each setting, its value and its origin"),
    Entry("init", _PROJECT, "set a project up"),
    Entry("demo", _PROJECT, "the guided tour"),
)

BY_NAME = {entry.name: entry for entry in COMMANDS}
