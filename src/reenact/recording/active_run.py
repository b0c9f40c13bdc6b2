"""The run that is being recorded, or replayed, here and now."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from reenact.errors import StoreError, UsageError
from reenact.facts import late_binding
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, fields
from reenact.facts.run import Run, kept_in
from reenact.seams import lanes, logs
from reenact.seams.step_scopes import note


@dataclass(frozen=True, slots=True)
class ActiveRun(Run):
    """The run being recorded (or replayed) here."""

    __repr__ = Run.__repr__

    def note(self, key: str, value: Json) -> None:
        """Keep evidence on the current event; see ``reenact.note``."""
        note(key, value)

    def flush(self) -> None:
        """Wait until everything recorded so far is on the disk, where it survives a killed process and a power cut.

        In a replay, and without a recording, it returns at once.

        Raises:
            StoreError: The records could not be written, or not within ten seconds.
        """
        lane = lanes.current()
        persist = None if lane is None else getattr(lane.session, "persist", None)
        if persist is not None and not persist():
            unkept = getattr(lane.session, "unkept", None) if lane is not None else None
            raise StoreError(
                "what was recorded so far is not on the disk",
                cause=unkept.message
                if unkept
                else "the disk is full or stalls, or another process writes to the store",
                next_command=unkept.next_command if unkept else "df -h",
            )

    @property
    def effect_key(self) -> str:
        """The idempotency key of the write under way: 32 hexadecimal digits.

        It is the same in the recording and in every resumption or fork of it, so that a server can recognise a repeated
        request: ``headers={"Idempotency-Key": current_run().effect_key}``. It depends on the request and on how often
        it was made, not on time or place.

        Raises:
            UsageError: No writing tool is under way here.
        """
        lane = lanes.current()
        effect = None if lane is None else getattr(lane.session, "effect", None)
        key = b"" if effect is None else effect(lane)
        if not any(key):
            raise UsageError(
                "there is no write under way here",
                cause="effect_key is read inside the body of a tool with effect='write'",
                next_command="python -m pydoc reenact.tool",
            )
        return str(key.hex())

    def timeline(self) -> Any:
        """A place in the run so far, from which one can move; see ``Run.timeline``. In a replay it is the recorded run
        as a whole."""
        lane = lanes.current()
        flush = None if lane is None else getattr(lane.session, "flush", None)
        if flush is not None:
            flush()
        return late_binding.behind("timeline")(self, self.home)


def active(run: Run) -> ActiveRun:
    """A run, with the methods that need it to be under way."""
    return kept_in(ActiveRun(**{field.name: getattr(run, field.name) for field in fields(Run)}), run.home)


current: ContextVar[ActiveRun | None] = ContextVar("reenact_run", default=None)


def _current_id() -> str:
    run = current.get()
    if run is not None:
        return run.id
    lane = lanes.current()
    return "" if lane is None else str(lane.session.run.id)


def current_run() -> ActiveRun | None:
    """The run being recorded here, or None outside a recording.

    Besides the fields of a `Run` it has `.note(key, value)`, `.effect_key`, `.timeline()` and `.flush()`. `flush`
    returns when everything recorded so far is on the disk, and raises `StoreError` if that fails or takes more than ten
    seconds. `with record() as run` gives the same object.
    """
    run = current.get()
    if run is not None:
        return run
    lane = lanes.current()
    return active(lane.session.run) if lane is not None and not lanes.is_passive(lane) else None


logs.run_ids_from(_current_id)
