"""Causes: why a golden is not the same any more, by category, from the recording and from today's replay.

Pure over two scenes (``triage.scene``). The agent's calls are compared by their requests; its environment by each run's
evidence of its process, packages, sources and revision.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from reenact.facts.call import Json, Kind
from reenact.facts.decoding import decode
from reenact.facts.dialects import read
from reenact.facts.difference import differences
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.reading import Reading
from reenact.testing.goldens.golden_differences import Category, GoldenDifference
from reenact.timetravel.preview import brief
from reenact.triage.scene import Scene

_WIDTH: Final = 60
_FEW: Final = 4
_COMMIT: Final = 12
_OWN: Final = frozenset({"run", *(kind.value for kind in (Kind.STEP, Kind.INPUT, Kind.OUTPUT, Kind.NOTE))})
"""The kinds of events of the agent's own code, which ask no other party."""

ASKED: Final = ("prompt", "messages", "tool schema", "model", "parameters", "calls")
"""The categories of changes in the agent's requests."""
RUNS_ON: Final = ("code", "packages", "python")
"""The categories of changes in its environment."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason.

    Attributes:
        category: One of ``ASKED`` or ``RUNS_ON``.
        text: The change, in words.
        event: The number of the golden's event that shows it; None without one.
    """

    category: str
    text: str
    event: int | None = None


# --- what the agent asks ---------------------------------------------------------------------------------------------


def asked_otherwise(found: Sequence[GoldenDifference], then: Scene, now: Scene) -> list[Cause]:
    """Why today's calls are not those of the golden. A call that is no longer made, or that has another answer, is no
    cause."""
    before, after = _readings(then), _readings(now)
    causes: list[Cause] = []
    for each in found:
        if each.call.partition(" ")[0] in _OWN:
            continue
        if each.event is not None and each.today is not None and each.category is not Category.TRIM:
            old, new = before.get(each.event), after.get(each.today)
            if old is not None and new is not None and not _is_function(old):
                causes += requests(old, new, each.event, gone=_is_gone(old, after))
            elif each.was["asks"] != each.now["asks"]:
                causes.append(_call(each.call, each.was["asks"], each.now["asks"], each.event, prompt=new is not None))
        elif each.event is None and each.today is not None:
            causes.append(_created(each, before, after.get(each.today)))
    return once(causes)


def _created(each: GoldenDifference, before: Mapping[int, Reading], new: Reading | None) -> Cause:
    if new is not None and new.model_asked and all(new.model_asked != old.model_asked for old in before.values()):
        return Cause("model", f"{new.model_asked} is asked, which was not")
    return Cause("calls", f"{each.call} is not in the golden")


def stale_causes(call: Mapping[str, Any], then: Scene) -> list[Cause]:
    """Why a call has no recorded answer: how the call differs from the recorded call that it replaces.

    Args:
        call: The call as data, see ``GoldenMisses.stale_call``.
        then: The golden.
    """
    place, head, body = call["place"], call["head"], b64decode(call["body"])
    label = f"{call['kind']} {call['name']}"
    old = _readings(then).get(place)
    if call["kind"] == Kind.HTTP.value:
        new = read(head, body, {}, b"")
        if new is None:
            return [Cause("calls", f"{label} has no recorded answer", place)]
        if old is None:
            known = _readings(then).values()
            if new.model_asked and all(new.model_asked != each.model_asked for each in known):
                return [Cause("model", f"{new.model_asked} is asked, which was not")]
            return [Cause("calls", f"a further question to {new.model_asked or label}")]
        return requests(old, new, place) or [Cause("calls", f"{label} is asked differently", place)]
    category = "prompt" if call["kind"] == Kind.MODEL.value else "calls"
    what = "has no recorded answer" if place is None else "asks something else"
    return [Cause(category, f"{label} {what}: {brief(_arguments(body), _WIDTH)}", place)]


def requests(old: Reading, new: Reading, event: int | None, *, gone: bool = False) -> list[Cause]:
    """The differences between two requests to a model.

    Args:
        old, new: The readings of both requests.
        event: The number of the golden's event.
        gone: Whether the old model is not used anywhere any more.
    """
    found: list[Cause] = []
    if old.model_asked != new.model_asked:
        names = f"{old.model_asked or 'no name'} -> {new.model_asked or 'no name'}"
        found.append(
            Cause("model", names + (f"; {old.model_asked} is gone" if gone and old.model_asked else ""), event)
        )
    elif (old.dialect, old.provider) != (new.dialect, new.provider):
        found.append(Cause("model", f"{old.provider} ({old.dialect}) -> {new.provider} ({new.dialect})", event))
    if old.system != new.system:
        found.append(Cause("prompt", _texts(old.system, new.system), event))
    found += [Cause("tool schema", text, event) for text in _tools(old.tools, new.tools)]
    params = [dict(each.params) for each in (old, new)]
    for each in params:
        each.pop("fingerprint", None)
    found += [Cause("parameters", text, event) for text in _fields(*params)]
    if list(old.messages) != list(new.messages):
        at = differences(list(old.messages), list(new.messages), 1)
        place = f"message {at[0].path}: " if at else ""
        left, right = (at[0].left, at[0].right) if at else ("", "")
        found.append(Cause("messages", place + _texts(left, right), event))
    return found


def _readings(scene: Scene) -> dict[int, Reading]:
    return {each.event.number: each.reading for each in scene.models}


def _is_function(reading: Reading) -> bool:
    """Whether a request went to a model in the process, of which only the arguments are known."""
    return reading.dialect == "function"


def _is_gone(old: Reading, after: Mapping[int, Reading]) -> bool:
    return all(each.model_asked != old.model_asked for each in after.values())


def _call(label: str, was: Json, now: Json, event: int, *, prompt: bool) -> Cause:
    at = differences(was, now, 1)
    text = f"{at[0].path or 'it'}: {_texts(at[0].left, at[0].right)}" if at else "another one"
    return Cause("prompt" if prompt else "calls", f"{label} asks something else: {text}", event)


def _arguments(body: bytes) -> Json:
    try:
        found: Json = decode(body)
    except Exception:  # any value: it is only shown
        return body.decode("utf-8", "replace")
    return found


def _tools(old: Sequence[Json], new: Sequence[Json]) -> Iterator[str]:
    """The differences in the offered tools, by their names."""
    before, after = _by_name(old), _by_name(new)
    for name in before:
        if name not in after:
            yield f"{name} is no longer offered"
        elif before[name] != after[name]:
            at = differences(before[name], after[name], 1)
            yield f"{name}: {at[0].path} {_texts(at[0].left, at[0].right)}" if at else f"{name} is another one"
    for name in after:
        if name not in before:
            yield f"{name} is offered now"


def _by_name(tools: Sequence[Json]) -> dict[str, Json]:
    return {
        str((each.get("name") or each.get("type") or number) if isinstance(each, Mapping) else number): each
        for number, each in enumerate(tools)
    }


def _fields(old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[str]:
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield f"{name}: {_short(old.get(name))} -> {_short(new.get(name))}"


def _texts(old: Json, new: Json) -> str:
    """Two values that differ; long texts are cut to the part around the first difference."""
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > _WIDTH:
        at = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        start = max(0, at - 12)
        lead = "…" if start else ""
        old, new = lead + old[start:], lead + new[start:]
    return f"{_short(old)} -> {_short(new)}"


def _short(value: Json) -> str:
    return "-" if value is None else brief(value, _WIDTH)


# --- what it runs on -------------------------------------------------------------------------------------------------


def runs_on(then: Scene, now: Scene) -> list[Cause]:
    """The differences in code, packages and Python. A fact that one side does not have is no difference."""
    return [*_code(then, now), *_packages(then, now), *_python(then, now)]


def _code(then: Scene, now: Scene) -> Iterator[Cause]:
    """The program's files that differ, or the revision where the files are unknown."""
    before, after = (dict(each.process.get("sources") or {}) for each in (then, now))
    commits = [str(each.revision.get("commit") or "")[:_COMMIT] for each in (then, now)]
    moved = f" ({commits[0]} -> {commits[1]})" if all(commits) and commits[0] != commits[1] else ""
    if before and after:
        changed = sorted(path for path in before if path in after and before[path] != after[path])
        changed += sorted(f"{path} (new)" for path in after.keys() - before.keys())
        if changed:
            yield Cause("code", _list(changed) + moved)
    elif moved:
        yield Cause("code", moved.strip(" ()"))


def _packages(then: Scene, now: Scene) -> Iterator[Cause]:
    before, after = (_versions(each.process.get("packages")) for each in (then, now))
    if not (before and after):
        return
    changed = [f"{n} {before[n]} -> {after[n]}" for n in sorted(before) if n in after and before[n] != after[n]]
    changed += [f"{name} is gone" for name in sorted(before.keys() - after.keys())]
    changed += [f"{name} {after[name]} is new" for name in sorted(after.keys() - before.keys())]
    if changed:
        yield Cause("packages", _list(changed))


def _versions(listed: Json) -> dict[str, str]:
    return {str(name): str(version) for name, version in listed} if isinstance(listed, (list, tuple)) else {}


def _python(then: Scene, now: Scene) -> Iterator[Cause]:
    before, after = (str(each.environment.get("python") or "") for each in (then, now))
    if before and after and before != after:
        yield Cause("python", f"{before} -> {after}")


def _list(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _FEW} more" if len(texts) > _FEW else ""
    return ", ".join(texts[:_FEW]) + more


def once(causes: Sequence[Cause]) -> list[Cause]:
    """Each cause once, at the first event that shows it: a changed prompt shows in every call."""
    found: dict[tuple[str, str], Cause] = {}
    for each in causes:
        found.setdefault((each.category, each.text), each)
    return list(found.values())
