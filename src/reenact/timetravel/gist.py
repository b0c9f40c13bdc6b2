"""The gist of a run: its question, and its end."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reenact.abc.body_access import WITHHELD
from reenact.errors import BlobMissing
from reenact.facts.call import Kind
from reenact.facts.late import late
from reenact.facts.phrases import counted
from reenact.facts.run import RAISED_AT, Status

if TYPE_CHECKING:
    from reenact.abc.store import Recording
    from reenact.facts.call import Json
    from reenact.facts.run import Run
    from reenact.store.checkpoints import conversation_at
    from reenact.timetravel import preview
    from reenact.timetravel.event_contents import Unread, answered, arguments_of, asked
    from reenact.timetravel.model_readings import decides
    from reenact.timetravel.vocabulary import RunScope
else:
    conversation_at = late("reenact.store.checkpoints", "conversation_at")
    RunScope = late("reenact.timetravel.vocabulary", "RunScope")
    preview = late("reenact.timetravel.preview")
    Unread = late("reenact.timetravel.event_contents", "Unread")
    answered = late("reenact.timetravel.event_contents", "answered")
    arguments_of = late("reenact.timetravel.event_contents", "arguments_of")
    asked = late("reenact.timetravel.event_contents", "asked")
    decides = late("reenact.timetravel.model_readings", "decides")

_MOST = 2000
_LIMIT = 1 << 20


def command_of(run: Run) -> str:
    """The command line of a run, as it would be typed; empty for a block."""
    program, *words = run.entry.argv or ("",)
    return preview.safe(shlex.join([os.path.basename(program), *words])) if program else ""


def question_of(recording: Recording) -> str:
    """The question to the run, in one safe line: its arguments or body, or else the user's message to the first model.
    Empty without one. Reads one event and its request."""
    run = recording.run
    if not run.totals.events and run.status is not Status.RECORDING:
        return ""
    for event in recording.events(kinds=[Kind.INPUT], limit=1):
        if event.kind == Kind.INPUT and run.entry.kind in ("callable", "request"):
            given = asked(recording, event, _LIMIT) or answered(recording, event, _LIMIT)
            return _given(run, given)
    for event in recording.events(kinds=(Kind.MODEL, Kind.HTTP)):
        if decides(event):
            small = event.request is None or event.request.size <= _LIMIT
            return _said_by_user(recording, event.number) if small else ""
    return ""


def answer_of(recording: Recording) -> str:
    """The run's final answer, in one safe line, as in expressions (``answer``); empty without one. For a server, the
    number of requests that it served: each is a run."""
    served = recording.run.capture.get("served")
    if isinstance(served, int):
        return f"{counted(served, 'request')} served"
    answer = RunScope(recording.run, lambda: recording).value("answer")
    return "" if answer is None else _text(answer)


def error_of_run(run: Run) -> str:
    """The error of a run, and the line of the agent's code that raised it; empty without one."""
    place = run.capture.get(RAISED_AT)
    error = preview.safe(run.error)
    return f"{error}, at {preview.safe(str(place))}" if error and place else error


def _given(run: Run, content: Json | Unread) -> str:
    """The arguments as a call of the entry point; the body of a request unchanged."""
    if content is None or isinstance(content, (Unread, bytes)):
        return ""
    if run.entry.kind == "callable":
        return preview.call_text(run.entry.target.rpartition(":")[2], arguments_of(content), _MOST)
    return _text(content)


def _said_by_user(recording: Recording, number: int) -> str:
    """The user's last message in the conversation of a model call."""
    try:
        reading = conversation_at(recording, recording.event(number))
    except BlobMissing as error:
        if error.reason != WITHHELD:
            raise
        return ""
    for message in reversed(reading.messages if reading is not None else ()):
        if isinstance(message, Mapping) and message.get("role") in ("user", "human"):
            text = message.get("text") or message.get("content")
            if isinstance(text, str) and text.strip():
                return _text(text.strip())
    return ""


def _text(value: Json) -> str:
    if isinstance(value, str):
        return preview.clip(preview.safe(" ".join(value[: _MOST + 1].split())), _MOST)
    return preview.brief(value, _MOST)
