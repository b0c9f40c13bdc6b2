"""Trajectories of agents that are kept as conversations: tau-bench, SWE-agent, and the failures of Who&When."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, BinaryIO, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.otlp.names import as_said
from reenact.interop.otlp.otlp_documents import Pages, json_form
from reenact.interop.otlp.spans import Span
from reenact.interop.rows.call_items import listing, mapping, text
from reenact.interop.trace_messages import words
from reenact.interop.trees.conversation_turns import Room, turns

SOURCE: Final = "messages"

_LIKE: Final = lazy_regex(rb'"(?:traj|trajectory|history)"\s*:\s*\[')
_ROOT: Final = "task"
_LABELS: Final = ("is_correct", "is_corrected", "mistake_agent", "mistake_step", "mistake_reason", "ground_truth")
_PEOPLE: Final = frozenset({"human", "user"})
_TERMINAL: Final = lazy_regex(r"terminal", re.IGNORECASE)


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like a trajectory."""
    return _LIKE.search(head) is not None


@dataclass(frozen=True, slots=True)
class _Piece:
    """One call inside a trajectory, or the trajectory itself.

    Attributes:
        row: The trajectory.
        trace: Its id.
        own: Its id; that of the trajectory itself is ``task``.
        name: The name of the call.
        attributes: Its attributes.
        error: Its failure; empty without one.
    """

    row: Mapping[str, Any]
    trace: str
    own: str
    name: str
    attributes: Mapping[str, Json] = field(default_factory=dict)
    error: str = ""


class Trajectories:
    """The layout of trajectories in a file: one, a list, or one on each line."""

    source: Final = SOURCE
    piece: Final = "trajectory"
    retold: Final = False

    def documents(self, file: BinaryIO) -> Pages:
        """One document, or one on each line."""
        return Pages(json_form(file))

    def pieces(self, document: Any) -> Iterator[Any]:
        """Each trajectory, and each call that it tells of."""
        for row in map(mapping, document if isinstance(document, list) else [document]):
            content = json.dumps(row, sort_keys=True).encode("utf-8", "surrogatepass")
            trace = blake2b(content, digest_size=16).hexdigest()
            if isinstance(row.get("traj"), list):
                yield from _tau_bench(row, trace)
            elif isinstance(row.get("trajectory"), list):
                yield from _swe_agent(row, trace)
            elif isinstance(row.get("history"), list):
                yield from _who_and_when(row, trace)
            else:
                yield _Piece(row, "", "", "")

    def span(self, piece: Any) -> Span | str:
        """A call as a span; none has a time."""
        if not piece.trace:
            return "neither traj nor trajectory nor history"
        parent = "" if piece.own == _ROOT else _ROOT
        return Span(
            piece.trace,
            piece.own,
            parent,
            piece.name,
            None,
            None,
            piece.attributes,
            failed=bool(piece.error),
            status=piece.error,
        )

    def joined(self, pieces: list[Any]) -> Any:
        """The trajectory that the pieces belong to."""
        return pieces[0].row


def _tau_bench(row: Mapping[str, Any], trace: str) -> Iterator[_Piece]:
    """A task of tau-bench: the messages of one trial, its reward."""
    name = f"task {row.get('task_id')}, trial {row.get('trial')}"
    said = listing(row["traj"])
    asked = next((words(mapping(one).get("content")) for one in said if mapping(one).get("role") == "user"), None)
    result = {key: row[key] for key in ("reward", "info") if key in row}
    yield _Piece(row, trace, _ROOT, name, _whole("tau-bench", asked, result))
    yield from _told(row, trace, said)


def _told(row: Mapping[str, Any], trace: str, said: list[Any]) -> Iterator[_Piece]:
    for turn in turns(SOURCE, said):
        yield _Piece(row, trace, f"message-{turn.at}", turn.name, turn.attributes, turn.error)


def _whole(agent: str, asked: Json, result: Json, **more: Json) -> dict[str, Json]:
    return as_said(SOURCE, operation="task", agent=agent, input=asked, output=result or None, **more)


def _swe_agent(row: Mapping[str, Any], trace: str) -> Iterator[_Piece]:
    """A trajectory of SWE-agent: at each step a model answers, and its action is run in the environment."""
    info, history = mapping(row.get("info")), [mapping(each) for each in listing(row.get("history"))]
    steps = [mapping(each) for each in row["trajectory"]]
    spoken = [(at, one) for at, one in enumerate(history) if one.get("role") == "assistant" and not one.get("is_demo")]
    asked = next((words(one.get("content")) for one in history if _is_task(one)), None)
    version, commit = text(info.get("swe_agent_version")) or None, text(info.get("swe_agent_hash")) or None
    whole = _whole("swe-agent", asked, dict(info), version=version, commit=commit)
    yield _Piece(row, trace, _ROOT, text(row.get("environment")) or "trajectory", whole)
    room = Room()
    for at, step in enumerate(steps):
        place = next((n for n, (_, one) in enumerate(spoken) if one.get("action") == step.get("action")), None)
        before, answer = spoken[place] if place is not None else (None, {})
        spoken = spoken[place + 1 :] if place is not None else spoken
        calls = [each for each in listing(answer.get("tool_calls")) if isinstance(each, Mapping)]
        message = {"role": "assistant", "content": step.get("response"), "tool_calls": calls}
        query = listing(step.get("query")) or (history[:before] if before is not None else [])
        told = room.attributes(SOURCE, query) if query else {}
        found = as_said(SOURCE, operation="model", output_messages=[message]) | told
        yield _Piece(row, trace, f"step-{at}", "answer", found)
        if step.get("action"):
            yield _Piece(row, trace, f"action-{at}", *_action(step, calls))


def _is_task(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user" and not message.get("is_demo")


def _action(step: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> tuple[str, dict[str, Json]]:
    """The action of a step as a tool call, named by the model's call, or else by the first word of its command."""
    action = text(step.get("action")).strip()
    call = calls[0] if len(calls) == 1 else {}
    function = mapping(call.get("function"))
    name = text(function.get("name")) or (action.split() or ["action"])[0][:60]
    found = as_said(
        SOURCE,
        operation="tool",
        tool_name=name,
        tool_id=text(call.get("id")) or None,
        tool_arguments=function.get("arguments") if function else {"command": action},
        tool_result=step.get("observation"),
    )
    beside = {f"{SOURCE}.{key}": step[key] for key in ("state", "execution_time") if step.get(key)}
    return name, found | beside


def _who_and_when(row: Mapping[str, Any], trace: str) -> Iterator[_Piece]:
    """A failure of several agents, with the step that decided it.

    Agents of a group chat get all messages; a file with the agents' prompts is of such a chat.
    """
    history = [mapping(each) for each in row["history"]]
    prompts = mapping(row.get("system_prompt"))
    labels = {name: row[name] for name in _LABELS if name in row}
    last = words(history[-1].get("content")) if history else None
    yield _Piece(row, trace, _ROOT, "task", _whole("who-and-when", row.get("question"), {"answer": last, **labels}))
    room = Room()
    for at, one in enumerate(history):
        speaker = text(one.get("name")) or text(one.get("role"))
        agent = speaker.partition(" (")[0]
        own = f"message-{at}"
        if _TERMINAL.search(agent):
            found = as_said(SOURCE, operation="tool", tool_name=speaker, tool_result=one.get("content"))
            yield _Piece(row, trace, own, speaker, found)
        elif agent in _PEOPLE or not agent:
            yield _Piece(row, trace, own, "message", as_said(SOURCE, operation="step", input=one.get("content")))
        else:
            said = [{"role": "assistant", "content": one.get("content")}]
            found = as_said(SOURCE, operation="model", output_messages=said, system=prompts.get(agent))
            heard = [_heard(each, agent) for each in history[:at]] if prompts else []
            yield _Piece(row, trace, own, speaker, found | (room.attributes(SOURCE, heard) if heard else {}))


def _heard(message: Mapping[str, Any], agent: str) -> dict[str, Json]:
    """A message of a group chat in the form in which one of its agents got it."""
    own = message.get("name") == agent
    return {"role": "assistant" if own else "user", "content": message.get("content")}
