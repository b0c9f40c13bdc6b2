"""Tools that a model used and that no recorded call answers: functions of the program that run in each replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reenact.facts.before import NOTE as CHANGED
from reenact.facts.call import Json
from reenact.facts.file_notes import ABSENT
from reenact.facts.file_notes import NOTE as READ
from reenact.facts.kit import UNDECORATED, Bucket, Item, Standing
from reenact.facts.unstored import ITEMS
from reenact.triage.scene import ModelCall, Scene

_FEW = 3


def undecorated(scene: Scene) -> Iterator[Item]:
    """One item for all of them; nothing where each tool is recorded, or asks something that is.

    It is a lack only where the program's own code has read or changed files: anything else that such a function does is
    the same in a replay, or is named as a gap.
    """
    asked = _asked(scene)
    if not asked:
        return
    names = list(asked)
    shown = ", ".join(names[:_FEW]) + (" …" if len(names) > _FEW else "")
    which, run, them = ("which is", "it runs", "it") if len(names) == 1 else ("which are", "they run", "them")
    about = f"the model used {shown}, {which} not recorded: {run} again in every replay"
    numbers = tuple(asked.values())
    if _files(scene):
        capture = (f"decorate {them} with @reenact.tool",)
        yield Item(Bucket.EFFECTS, UNDECORATED, Standing.PARTIAL, about, numbers, names, capture)
    else:
        yield Item(Bucket.EFFECTS, UNDECORATED, Standing.CAPTURED, about, numbers, names)


def _asked(scene: Scene) -> dict[str, int]:
    """The tools by name, each with the model call that asked for it first."""
    answered = _answered(scene.models)
    spoken = {each.event.number for each in scene.models}
    world = [event for event in scene.events if event.call.kind in ITEMS and event.number not in spoken]
    found: dict[str, int] = {}
    for each in scene.models:
        here = each.event.number
        uses = [use for use in each.reading.tool_calls if isinstance(use, Mapping) and str(use.get("id")) in answered]
        if not uses:
            continue
        until = max(answered[str(use["id"])] for use in uses)
        between = [event.name for event in world if here < event.number < until]
        bare = [str(use.get("name", "")) for use in uses if use.get("name") not in between]
        others = sum(name not in {use.get("name") for use in uses} for name in between)
        if others < len(bare):  # a tool may be recorded under another name, or ask something that is recorded
            found.update({name: here for name in bare if name not in found})
    return found


def _answered(models: tuple[ModelCall, ...]) -> dict[str, int]:
    """Tool calls by their id, each with the model call that was first given what came of it."""
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


def _files(scene: Scene) -> bool:
    """Whether the program's own code has read or changed files."""
    for name, note in scene.notes.items():
        if name.startswith(CHANGED):
            return True
        if name.startswith(READ) and isinstance(note, Mapping) and note.get("digests") != [ABSENT]:
            return True
    return False
