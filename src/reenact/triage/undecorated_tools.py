"""Tools that a model used and that no recorded call answers: functions of the program that run in each replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from reenact.facts.call import Json, Kind
from reenact.facts.event import Event
from reenact.facts.file_notes import ABSENT
from reenact.facts.file_notes import NOTE as READ
from reenact.facts.kit import UNDECORATED, Bucket, Item, ItemState
from reenact.facts.open_calls import ITEMS
from reenact.facts.path_before import NOTE as CHANGED
from reenact.triage.scene import ModelCall, Scene

_FEW = 3
_WHOLE = frozenset({Kind.TOOL, Kind.RETRIEVAL, Kind.MCP})
"""Kinds of call that a replay answers as a whole: reads in their bodies do not matter to the replay."""


def undecorated(scene: Scene) -> Iterator[Item]:
    """One item for all undecorated tools; none where each tool is recorded, or only makes recorded calls.

    It counts as missing only if the program's own code read or changed files while the tools ran. All else that such a
    function does is the same in a replay, is answered from the recording, or is named as a gap.
    """
    asked: dict[str, int] = {}
    files = False
    for number, names, touches in _asked(scene):
        files = files or touches
        asked.update({name: number for name in names if name not in asked})
    if not asked:
        return
    names = list(asked)
    shown = ", ".join(names[:_FEW]) + (" …" if len(names) > _FEW else "")
    which, run, them = ("which is", "it runs", "it") if len(names) == 1 else ("which are", "they run", "them")
    about = f"the model used {shown}, {which} not recorded: {run} again in every replay"
    numbers = tuple(asked.values())
    if files:
        capture = (f"decorate {them} with @reenact.tool",)
        yield Item(Bucket.EFFECTS, UNDECORATED, ItemState.PARTIAL, about, numbers, names, capture)
    else:
        yield Item(Bucket.EFFECTS, UNDECORATED, ItemState.CAPTURED, about, numbers, names)


def _asked(scene: Scene) -> Iterator[tuple[int, list[str], bool]]:
    """For each model call, the unrecorded tools that it asked for: the number of the call, the names of the tools, and
    whether files were touched while the tools ran."""
    answered = _answered(scene.models)
    spoken = {each.event.number: each.event for each in scene.models}
    world = [event for event in scene.events if event.call.kind in ITEMS and event.number not in spoken]
    files = list(_files(scene))
    for each in scene.models:
        here = each.event.number
        uses = [use for use in each.reading.tool_calls if isinstance(use, Mapping) and str(use.get("id")) in answered]
        if not uses:
            continue
        until = spoken[max(answered[str(use["id"])] for use in uses)]
        between = [event for event in world if here < event.number < until.number]
        called = {event.name for event in between}
        wanted = {str(use.get("name", "")) for use in uses}
        bare = [name for use in uses if (name := str(use.get("name", ""))) not in called]
        others = [event for event in between if event.name not in wanted]
        frozen = [event for event in between if event.call.kind in _WHOLE]
        if sum(event in frozen for event in others) >= len(bare):
            continue  # the tools may be recorded under another name
        touches = any(
            us is None or (_within(us, each.event.ended_us, until.issued_us) and not any(map(partial(_in, us), frozen)))
            for us in files
        )
        if touches or len(others) < len(bare):  # else the tools may only make calls that are recorded
            yield here, bare, touches


def _within(us: int, begin: int | None, end: int | None) -> bool:
    return (begin is None or begin <= us) and (end is None or us <= end)


def _in(us: int, event: Event) -> bool:
    """Whether a time lies in a call whose body no replay runs."""
    return _within(us, event.issued_us, event.ended_us)


def _answered(models: tuple[ModelCall, ...]) -> dict[str, int]:
    """Tool calls by their id, each with the model call that first got its result."""
    found: dict[str, int] = {}
    for each in models:
        for message in _mappings(each.reading.messages):
            for result in _mappings(message.get("tool_results")):
                if result.get("id"):
                    found.setdefault(str(result["id"]), each.event.number)
    return found


def _mappings(value: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(value, (list, tuple)):
        yield from (each for each in value if isinstance(each, Mapping))


def _files(scene: Scene) -> Iterator[int | None]:
    """When the program's own code has read or changed a file, in microseconds since the run began; None where the time
    is not known, as in older runs."""
    for name, note in scene.notes.items():
        if isinstance(note, Mapping) and name.startswith((CHANGED, READ)) and note.get("digests") != [ABSENT]:
            us = note.get("us")
            yield us if isinstance(us, int) else None
