"""What a fork says when a call has no recorded answer: which calls of that name there are."""

from __future__ import annotations

from reenact.abc.store import Recording
from reenact.facts.call import Call
from reenact.timetravel import preview
from reenact.timetravel.contents import Unread, asked
from reenact.timetravel.story import arguments_of


def recorded_calls(recording: Recording, call: Call, most: int = 8) -> str:
    """The recorded calls of one name, a line each, for who asked something else; empty where there are none."""
    lines = []
    for event in recording.events(name=call.name):
        if event.call.kind is call.kind:
            request = asked(recording, event)
            told = preview.call_text(event.name, None if isinstance(request, Unread) else arguments_of(request), 140)
            lines.append(f"\n  event {event.number}  {told}")
    more = f"\n  … and {len(lines) - most} more" if len(lines) > most else ""
    return f"\n  recorded calls of {call.name}:" + "".join(lines[:most]) + more if lines else ""
