"""Every error that a caller of this library can meet, and its meaning.

::

    ReenactError
    ├─ UsageError                     the caller asked for something impossible
    ├─ StoreError
    │  ├─ RunNotFound, EventNotFound  (also LookupError)
    │  ├─ BlobMissing, BlobCorrupt    a payload is gone, or is not what was stored
    │  ├─ StoreBusy                   another process holds the store
    │  └─ FormatTooNew                written by a newer version
    ├─ RecordingError
    ├─ ReplayError
    │  ├─ Divergence                  the first crossing that does not match the recording
    │  ├─ UnreplayableRun             something a replay needs was never captured
    │  ├─ EffectRefused               a write, or a contact with the world, that is not allowed
    │  └─ EffectInDoubt               a write that began and may have ended
    ├─ ForkError
    ├─ GoldenMismatch                 (also AssertionError)
    ├─ PrivacyError
    │  ├─ VaultLocked
    │  └─ RedactionLeak
    └─ InteropError

Every message says what happened, the likely cause, and one command to run next; the attributes hold the same facts.
``exit_code`` is the exit code of the command line.
"""

from __future__ import annotations

from typing import Any, ClassVar


class Halt(BaseException):
    """Stops the agent inside a replay. Private: not an ``Exception``, so that no retry loop swallows it.

    The session keeps the first divergence and raises it at its end, even if the agent has caught this exception.
    """


class ReenactError(Exception):
    """The root of every error of this library.

    Args:
        message: The event, in a sentence.
        cause: The likely cause, in words; empty when nothing useful is known.
        next_command: One command that helps; empty when there is none.
        **facts: The data behind the words; each becomes an attribute.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, cause: str = "", next_command: str = "", **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause
        self.next_command = next_command
        self.facts = dict(facts)
        for name, value in facts.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        lines = [self.message]
        if self.cause:
            lines.append(f"  likely cause: {self.cause}")
        if self.next_command:
            lines.append(f"  next: {self.next_command}")
        return "\n".join(lines)


class UsageError(ReenactError):
    """The caller asked for something impossible: a bad option, an unknown name, a feature not there yet."""


class StoreError(ReenactError):
    """The store cannot be read or written."""

    exit_code = 4


class RunNotFound(StoreError, LookupError):
    """No run, or more than one, matches the reference."""

    exit_code = 2


class EventNotFound(StoreError, LookupError):
    """The run has no such event."""

    exit_code = 2


class BlobMissing(StoreError):
    """A payload that the log names is not in the store.

    Attributes:
        digest: The digest of the payload.
        reason: ``withheld`` where the store knows that the payload was removed, or never kept; empty where it was lost.
    """

    digest: str
    reason: str = ""


class BlobCorrupt(StoreError):
    """A payload is not the one that was stored.

    Attributes:
        digest: The digest of the payload when it was stored.
        found: The digest of its bytes today.
    """

    digest: str
    found: str


class StoreBusy(StoreError):
    """Another process holds the store longer than this one was willing to wait."""


class FormatTooNew(StoreError):
    """The store was written by a newer version.

    Attributes:
        written: Its format.
        readable: The newest format that this version reads.
    """

    written: int
    readable: int


class RecordingError(ReenactError):
    """A recording could not be started. A fault *during* a recording never raises: it degrades the run."""


class ReplayError(ReenactError):
    """A run cannot be replayed, or its replay ended differently from the recording."""

    exit_code = 3


class Divergence(ReplayError):
    """The first crossing of a replay that does not match the recording.

    Attributes:
        event: Number of the nearest recorded event, or None when there is none.
        source: ``file:line`` of the agent's code that made the crossing.
        recorded: The recorded call, as JSON-able data.
        now: The agent's call now, as JSON-able data.
        path: The first differing path, as a JSON pointer with dots.
        reason: One word for programs: ``changed``, ``added``, ``missing``, ``ambiguous``, ``result``, ``end``.
        by_order, by_code: The likely cause if the code is the same and its order was not proven, and the one if the
            code has changed; ``cause`` is one of them.
    """

    exit_code = 1
    by_order: str = ""
    by_code: str = ""
    event: int | None
    source: str | None
    recorded: Any
    now: Any
    path: str
    reason: str

    def __init__(  # noqa: PLR0913 - the facts of one divergence, all by name
        self,
        message: str,
        *,
        event: int | None = None,
        source: str | None = None,
        recorded: Any = None,
        now: Any = None,
        path: str = "",
        reason: str = "changed",
        cause: str = "",
        next_command: str = "",
    ) -> None:
        super().__init__(
            message,
            cause=cause,
            next_command=next_command,
            event=event,
            source=source,
            recorded=recorded,
            now=now,
            path=path,
            reason=reason,
        )


class UnreplayableRun(ReplayError):
    """The run lacks something that a replay needs, or its code must not run here.

    Attributes:
        missing: What the run lacks, each by its name.
    """

    missing: tuple[str, ...] = ()


class EffectRefused(ReplayError):
    """A replay or fork tried to touch the world where that is not allowed."""

    exit_code = 5


class EffectInDoubt(ReplayError):
    """A write began, and its end is not known; a user must say whether it happened."""


class ForkError(ReenactError):
    """The fork is impossible at this place, or with this change."""


class GoldenMismatch(ReenactError, AssertionError):
    """A golden trace did not hold."""

    exit_code = 1


class PrivacyError(ReenactError):
    """Data that must not be stored could not be removed, or sealed data could not be opened."""


class VaultLocked(PrivacyError):
    """The vault's key is not at hand."""


class RedactionLeak(PrivacyError):
    """A known secret was found in bytes about to leave the gate."""


class InteropError(ReenactError):
    """A file of another tool cannot be read or written."""
