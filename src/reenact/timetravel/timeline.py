"""Timeline: moves in a recorded run: the state and messages at an event, and the event that set them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from functools import cached_property

from reenact.abc.body_access import UNPROVEN
from reenact.abc.store import Recording, Store
from reenact.errors import BlobMissing
from reenact.facts.call import Json, Kind
from reenact.facts.checkpoint import Checkpoint
from reenact.facts.difference import Difference, differences
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.reading import Reading
from reenact.facts.run import Run
from reenact.store import open_store
from reenact.store.checkpoints import (
    build_checkpoint,
    config_of,
    conversation_at,
    enclosing_step,
    messages_of,
    snapshot_at,
    snapshots_before,
)
from reenact.store.reference_lookup import find_event
from reenact.timetravel.authorship import ValueOrigin, last_set
from reenact.timetravel.model_readings import Decision, decides, decision_of
from reenact.timetravel.reference_syntax import parse_path
from reenact.timetravel.run_watch import watch
from reenact.timetravel.step_view import event_state


class Moment:
    """The agent's state when an event was issued; each part is read on first use.

    Args:
        recording: The run.
        event: The event.
    """

    def __init__(self, recording: Recording, event: Event) -> None:
        self.recording = recording
        self.event = event

    @cached_property
    def step(self) -> Event | None:
        """The step inside which the event happened; None outside of every step."""
        return enclosing_step(self.recording, self.event)

    @cached_property
    def state(self) -> Json:
        """The state that held, as plain data; None where no step before it kept any."""
        place = snapshot_at(self.recording, self.event)
        return None if place is None else event_state(self.recording, place.event, place.phase)

    @cached_property
    def reading(self) -> Reading | None:
        """The reading of the last model call up to this event that has a conversation; None without one."""
        return conversation_at(self.recording, self.event)

    @property
    def messages(self) -> tuple[Json, ...]:
        """The conversation of the last model call, with its answer."""
        return messages_of(self.reading)

    @property
    def model_config(self) -> Mapping[str, Json]:
        """The requested model, the answering model, the provider and the parameters of the last model call."""
        return config_of(self.reading)

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """The moment as a ``Checkpoint``, with every tool call so far. Costs a pass over the run."""
        return build_checkpoint(self.recording, self.event)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes at one event.

    Attributes:
        event: The event.
        state: The changes of the state. Steps keep states; of other events nothing is known.
        since: For a step: the changes from the last state before the step to the step's beginning.
        messages: For a model call: the messages that are new since the previous model call.
        decision: For a model call: its decision.
        unproven: Why the states are not known, where one of them is not proven; empty else.
    """

    event: Event
    state: tuple[Difference, ...] = ()
    since: tuple[Difference, ...] = ()
    messages: tuple[Json, ...] = ()
    decision: Decision | None = None
    unproven: str = ""


class Timeline:
    """A recorded run to move in. Events are named by number, or by name and count (``search_docs#2``).

    Args:
        recording: The run.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    @property
    def run(self) -> Run:
        """The run."""
        return self.recording.run

    def event(self, at: int | str) -> Event:
        """The event of a name.

        Raises:
            EventNotFound: The event does not exist.
        """
        return find_event(self.recording, at)

    def at(self, event: int | str) -> Moment:
        """The state and the messages at an event."""
        return Moment(self.recording, self.event(event))

    def changed(self, event: int | str) -> Changes:
        """The changes at an event: of the state at a step, of the conversation at a model call."""
        found = self.event(event)
        if found.kind == Kind.STEP:
            return self._changed_state(found)
        if decides(found):
            return self._changed_messages(found)
        return Changes(found)

    def last_set(self, path: str, *, at: int | str | None = None) -> ValueOrigin:
        """The event that set a value of the state last.

        Args:
            path: JSON pointer with dots: ``docs``, ``docs.0.title``.
            at: As seen from this event; None for the end of the run.

        Raises:
            UsageError: The state has nothing at that path.
        """
        return last_set(self.recording, parse_path(path), None if at is None else self.event(at))

    def watch(self, expression: str, *, after: int = -1, before: int | None = None) -> Iterator[Event]:
        """The events for which an expression is true, in order, as they are found; both bounds exclude themselves.

        Raises:
            UsageError: It is no expression.
        """
        return watch(self.recording, expression, after=after, before=before)

    def next(self, expression: str = "True", *, after: int | str) -> Event | None:
        """The first event after another one for which an expression is true; None without one."""
        return next(watch(self.recording, expression, after=self.event(after).number), None)

    def previous(self, expression: str = "True", *, before: int | str) -> Event | None:
        """The last event before another one for which an expression is true; None without one."""
        return next(watch(self.recording, expression, before=self.event(before).number, backwards=True), None)

    def _changed_state(self, step: Event) -> Changes:
        try:
            return self._state_changes(step)
        except BlobMissing as missing:
            if missing.reason != UNPROVEN:
                raise
            return Changes(step, unproven=str(missing.args[0]))

    def _state_changes(self, step: Event) -> Changes:
        given, left = (event_state(self.recording, step.number, phase) for phase in ("in", "out"))
        earlier = (place for place in snapshots_before(self.recording, step) if place.event != step.number)
        before = next(earlier, None)
        held = None if before is None else event_state(self.recording, before.event, before.phase)
        return Changes(
            step,
            state=tuple(differences(given, left)) if left is not None else (),
            since=tuple(differences(held, given)) if before is not None and given is not None else (),
        )

    def _changed_messages(self, call: Event) -> Changes:
        now = conversation_at(self.recording, call)
        earlier = next(self.recording.events(before=call.number, limit=1, backwards=True), None)
        before = None if earlier is None else conversation_at(self.recording, earlier)
        said = list(now.messages) if now is not None else []
        known = list(messages_of(before)) if before is not None else []
        if known and known[0].get("role") == "system":
            known = known[1:]
        same = 0
        while same < min(len(said), len(known)) and _words(said[same]) == _words(known[same]):
            same += 1
        return Changes(call, messages=tuple(said[same:]), decision=decision_of(call))


def _words(message: Json) -> Json:
    """The part of a message that identifies it: an answer comes back in the next request without its ids."""
    return (message.get("role"), message.get("text")) if isinstance(message, Mapping) else message


def open_timeline(run: Run | str, store: Store | str | None = None) -> Timeline:
    """The timeline of a run.

    Args:
        run: The run, or a reference to it.
        store: The store of the run; None takes the project's store.

    Raises:
        RunNotFound: The run does not exist.
    """
    if store is not None and not isinstance(store, str):
        return Timeline(store.open(run))
    opened = open_store(store)
    recording = opened.open(run)
    weakref.finalize(recording, opened.close)  # an iterator over its events still holds it
    return Timeline(recording)
