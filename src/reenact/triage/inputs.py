"""The first bucket of a kit: the inputs of the run."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator

from reenact.facts.call import Json, Kind
from reenact.facts.event import Event
from reenact.facts.imported_runs import is_imported
from reenact.facts.kit import Bucket, Item, ItemState, Stops
from reenact.facts.reading import Reading
from reenact.facts.served_requests import ARRIVING, REQUEST
from reenact.triage import identity
from reenact.triage.scene import ModelCall, Scene

_SERVER_SIDE = ("previous_response_id", "conversation")
_FIRST = ("user", "system", "developer")


def inputs(scene: Scene) -> Iterator[Item]:
    """The inputs of the run: input, prompt, history, identities."""
    yield _input(scene)
    spoken = [each for each in scene.models if each.event.call.kind is not Kind.MODEL]
    if spoken:
        yield _system_prompt(spoken)
        yield _history(spoken)
    functions = [each.event for each in scene.models if each.event.call.kind is Kind.MODEL]
    if functions:
        yield _functions(functions)
    yield from identity.named(scene)


def _input(scene: Scene) -> Item:
    """The run's own input, from which it is started again."""
    entry = scene.run.entry
    given = scene.of_kind(Kind.INPUT, Kind.HUMAN)
    stdin = [event.number for event in given if event.name != "arguments" and event.name not in ARRIVING]
    more = f", and {len(stdin)} reads of what a person or a pipe gave it" if stdin else ""
    if entry.kind == "command" and entry.argv:
        words = f"the command line, byte for byte{more}: {shlex.join(entry.argv)}"
        return Item(Bucket.INPUT, "input", ItemState.CAPTURED, words, tuple(stdin), list(entry.argv))
    if entry.kind == "callable":
        return _arguments(scene, more)
    if entry.kind == REQUEST:
        return _request(scene)
    if is_imported(scene.run):
        about = f"imported ({entry.target}): the file knows no program, and not what it was given"
        capture = ("reenact record -- python agent.py",)
        return Item(Bucket.INPUT, "input", ItemState.MISSING, about, capture=capture)
    noted, where = scene.said("input")
    if noted:
        about = f"{where}; the block itself cannot be called again"
    else:
        about = "a block of code: its inputs are in no event, and it cannot be called again alone"
    return Item(
        Bucket.INPUT,
        "input",
        ItemState.PARTIAL,
        about,
        tuple(stdin),
        noted or None,
        capture=(
            "reenact replay REF --cmd 'python agent.py', where a command line leads into the block",
            "reenact record -- python agent.py",
            "@reenact.record on the function that holds the block",
        ),
        stops=Stops.CODE,
    )


def _request(scene: Scene) -> Item:
    """The request that a server got."""
    target = scene.run.entry.target
    event = next((event for event in scene.of_kind(Kind.INPUT) if event.name == REQUEST), None)
    if event is None:
        about = f"{target} was served, the request is in no event"
        capture = ("reenact record -- uvicorn app:app",)
        return Item(Bucket.INPUT, "input", ItemState.MISSING, about, capture=capture, stops=Stops.CODE)
    read = "its body as far as it was read" if event.answer is not None and event.answer.size else "without a body"
    about = f"the request {target}: its head, {read}"
    return Item(Bucket.INPUT, "input", ItemState.CAPTURED, about, (event.number,))


def _arguments(scene: Scene, more: str) -> Item:
    """The arguments of a recorded call."""
    entry = scene.run.entry
    event = next((event for event in scene.of_kind(Kind.INPUT) if event.name == "arguments"), None)
    if event is None:
        about = f"{entry.target} was called, its arguments are in no event"
        capture = ("reenact replay REF --entry module:function",)
        return Item(Bucket.INPUT, "input", ItemState.MISSING, about, capture=capture, stops=Stops.CODE)
    opaque = event.call.head.get("opaque")
    if isinstance(opaque, (list, tuple)) and opaque:
        return Item(
            Bucket.INPUT,
            "input",
            ItemState.PARTIAL,
            f"{entry.target} was called with what cannot be stored: {', '.join(map(str, opaque))}",
            (event.number,),
            capture=(
                "reenact.replay(run, entry=factory), a function without parameters that builds them",
                "pass data to the entry point (JSON, dataclasses), and build the rest inside",
            ),
            stops=Stops.CODE,
        )
    undeclared = event.call.head.get("undeclared")
    if isinstance(undeclared, (list, tuple)) and undeclared:
        name = str(undeclared[0])
        return Item(
            Bucket.INPUT,
            "input",
            ItemState.PARTIAL,
            f"{entry.target} was called with a type that is not declared, and comes back by that only: {name}",
            (event.number,),
            capture=(f"annotate its parameter, as def {_function(entry.target)}(task: {name.rpartition('.')[2]})",),
            stops=Stops.CODE,
        )
    about = f"the arguments of {entry.target}, exactly{more}"
    return Item(Bucket.INPUT, "input", ItemState.CAPTURED, about, (event.number,))


def _function(target: str) -> str:
    """The last name of ``module:qualname``."""
    return target.rpartition(":")[2].rpartition(".")[2]


def _system_prompt(models: list[ModelCall]) -> Item:
    """The system prompt of every model call, in full."""
    numbers = tuple(each.event.number for each in models)
    unread = tuple(each.event.number for each in models if each.full and _unread(each.reading))
    prompts = {each.reading.system for each in models if each.full and each.reading.system}
    if unread:
        about = f"the request of {len(unread)} of {len(models)} model calls cannot be read"
        return Item(Bucket.INPUT, "system_prompt", ItemState.PARTIAL, about, unread)
    if not prompts:
        about = f"{len(models)} model calls, none sends a system prompt"
        return Item(Bucket.INPUT, "system_prompt", ItemState.CAPTURED, about, numbers)
    hashes = [_hash(prompt) for prompt in sorted(prompts)]
    longest = max(map(len, prompts))
    about = f"in full, {longest} characters, hash {hashes[0]}"
    if len(hashes) > 1:
        about = f"in full, {len(hashes)} different ones, up to {longest} characters"
    value: list[Json] = [{"hash": _hash(prompt), "text": prompt} for prompt in sorted(prompts)]
    return Item(Bucket.INPUT, "system_prompt", ItemState.CAPTURED, about, numbers, value)


def _unread(reading: Reading) -> bool:
    return not (reading.messages or reading.system)


def _hash(prompt: str) -> str:
    """The short name of a prompt, as ``Checkpoint.prompt_version`` has it."""
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _history(models: list[ModelCall]) -> Item:
    """The conversation before each call, as it was sent to the model."""
    elsewhere = [each.event.number for each in models if any(each.reading.params.get(name) for name in _SERVER_SIDE)]
    capture = ("send the whole conversation with each request",)
    if elsewhere:
        about = f"{len(elsewhere)} of {len(models)} model calls continue a conversation that the provider keeps"
        return Item(Bucket.INPUT, "history", ItemState.PARTIAL, about, tuple(elsewhere), capture=capture)
    first = next((each for each in models if each.full and each.reading.messages), None)
    opening = first.reading.messages[0] if first is not None else None
    role = opening.get("role") if isinstance(opening, dict) else None
    if first is not None and role not in _FIRST:
        about = f"truncated: the conversation at #{first.event.number} begins with a message of {_role(role)}"
        return Item(Bucket.INPUT, "history", ItemState.PARTIAL, about, (first.event.number,), capture=capture)
    shown = max((len(each.reading.messages) for each in models if each.full), default=0)
    about = f"as sent, up to {shown} messages"
    return Item(Bucket.INPUT, "history", ItemState.CAPTURED, about, tuple(each.event.number for each in models))


def _role(role: Json) -> str:
    return f"the {role}" if isinstance(role, str) and role else "no role"


def _functions(events: list[Event]) -> Item:
    """The questions to models inside the process: the arguments of these calls."""
    opaque = tuple(event.number for event in events if event.call.head.get("opaque"))
    if opaque:
        return Item(
            Bucket.INPUT,
            "prompts",
            ItemState.PARTIAL,
            f"{len(opaque)} of {len(events)} calls of models in the process have arguments that cannot be stored",
            opaque,
            capture=("pass text and data to the function that @reenact.model marks",),
        )
    about = f"the arguments of {len(events)} calls of models in the process"
    return Item(Bucket.INPUT, "prompts", ItemState.CAPTURED, about, tuple(event.number for event in events))
