"""A store in which one recorded request, or one recorded answer, is not what it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from reenact.abc.store import Recording, Store
from reenact.facts.call import Kind, Stream, Value
from reenact.facts.event import Event, Payload
from reenact.facts.run import Run

_NUMBER = re.compile(rb"[1-9]\d{11}")


def other(data: bytes) -> bytes | None:
    """The same bytes with one digit of their last number changed; None where there is no number."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return None
    at = found[-1].start() + 5
    return data[:at] + str((int(data[at : at + 1]) + 1) % 10).encode() + data[at + 1 :]


class Altered:
    """A recording that lies about one event. Everything else is as it was."""

    def __init__(self, recording: Recording, number: int, *, request: bool) -> None:
        self._recording = recording
        self._number = number
        self._request = request
        event = recording.event(number)
        self._asked = event.request
        self._answer = event.answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recording, name)

    def _changed(self, event: Event) -> Event:
        if event.number != self._number or not self._request or event.request is not None:
            return event
        head = dict(event.call.head)
        for part in ("url", "step", "tool"):
            if part in head:
                head[part] = f"{head[part]}x"
        return replace(event, call=replace(event.call, head=head))

    def event(self, number: int) -> Event:
        return self._changed(self._recording.event(number))

    def events(self, **options: Any) -> Iterator[Event]:
        return (self._changed(event) for event in self._recording.events(**options))

    def body(self, payload: Payload | None) -> bytes:
        data = self._recording.body(payload)
        mine = self._asked if self._request else self._answer
        if payload is None or mine is None or payload.digest != mine.digest:
            return data
        if self._request:
            return data[:-1] + b' ,"altered":1}' if data.endswith(b"}") else data + b"x"
        return other(data) or data

    def pieces(self, payload: Payload) -> Iterator[bytes]:
        yield self.body(payload)

    def holds(self, payload: Payload | None, data: bytes) -> bool:
        return self.body(payload) == data

    def parts(self, event: int) -> Iterator[tuple[int | None, int, bytes]]:
        changed = self._request or event != self._number
        for delivery, at_us, data in self._recording.parts(event):
            if not changed and (instead := other(data)) is not None:
                changed, data = True, instead
            yield delivery, at_us, data


class Alters:
    """A store that opens every run with one event altered."""

    def __init__(self, store: Store, number: int, *, request: bool) -> None:
        self._store = store
        self._number = number
        self._request = request
        self.url = store.url

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def open(self, run: Run | str) -> Any:
        return Altered(self._store.open(run), self._number, request=self._request)


def has_request(event: Event) -> bool:
    """Whether the event asked anything that can be altered."""
    return event.call.kind in (Kind.HTTP, Kind.TOOL, Kind.STEP)


def has_answer(recording: Recording, event: Event) -> bool:
    """Whether the event was answered with a number, or has one inside."""
    if isinstance(event.outcome, Stream):
        return any(other(data) is not None for _, _, data in recording.parts(event.number))
    if isinstance(event.outcome, Value) and not event.call.observed:
        return other(recording.body(event.answer)) is not None
    return False
