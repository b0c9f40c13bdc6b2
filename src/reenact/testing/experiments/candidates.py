"""A candidate: the changes to the recorded run in each row of an experiment, as one frozen value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.lazy_regex import lazy_regex
from reenact.testing.goldens.golden_misses import Misses
from reenact.testing.goldens.golden_trace import ScriptedAnswer
from reenact.timetravel.forks.plan import Opening, Plan

Live = Literal["none", "missing", "changed", "model"]
LIVE: Final[tuple[Live, ...]] = ("none", "missing", "model")
"""The values that a person may give; ``changed`` is the value of a candidate that changes model requests."""

_OPENING: Final[Mapping[Live, Opening]] = {"none": "none", "missing": "none", "changed": "reads", "model": "model"}
"""For each value, the calls that go live in a fork although they have an answer; with ``reads``, changed calls go live,
beside those without an answer."""

PARAMETERS: Final = (
    "frequency_penalty",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "presence_penalty",
    "reasoning_effort",
    "seed",
    "temperature",
    "top_k",
    "top_p",
)
"""Parameters of models that need no ``param.`` before their name."""

_NAME = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_NEXT = lazy_regex(r",(?=[A-Za-z_][\w.-]*=)")
_FORM = "NAME:model=…,prompt=@FILE,rev=GITREV,temperature=0,flag.x=…"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate.

    Attributes:
        name: The name.
        model: Another model, ``prompt`` another system prompt, ``params`` parameters, in every model request.
        flags: The values of feature flags.
        rev: Revision whose code runs; empty takes the files as they are.
        live: The model calls that go live: none; those without an answer (``missing``); also those with a changed
            request (``changed``); all (``model``).
        answers: Scripted answers, which come before any live call.
    """

    name: str
    model: str | None = None
    prompt: str | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    flags: Mapping[str, Json] = field(default_factory=dict)
    rev: str = ""
    live: Live = "none"
    answers: tuple[ScriptedAnswer, ...] = ()

    @property
    def plan(self) -> Plan:
        """The candidate as a fork at the first event."""
        return Plan(
            at=0,
            live=_OPENING[self.live],
            prompt=self.prompt,
            model=self.model,
            params=dict(self.params),
            flags=dict(self.flags),
            rev=self.rev,
        )

    @property
    def misses(self) -> Misses:
        """The rule for a call without an answer."""
        return "stale" if self.live == "none" else "models"

    @property
    def about(self) -> str:
        """The changes, in words."""
        told = "; ".join(self.plan.changes) or "nothing changed"
        return told + (f"; {len(self.answers)} scripted answers" if self.answers else "")

    def to_json(self) -> dict[str, Any]:
        """The candidate as JSON-able data."""
        return {
            "name": self.name,
            "model": self.model,
            "prompt": self.prompt,
            "params": dict(self.params),
            "flags": dict(self.flags),
            "rev": self.rev,
            "live": self.live,
            "answers": [each.to_json() for each in self.answers],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Candidate:
        """The inverse of ``to_json``."""
        return cls(**{**data, "answers": tuple(ScriptedAnswer(**each) for each in data["answers"])})


def parse_candidate(text: str, read: Callable[[str], str], commit: Callable[[str], str]) -> Candidate:
    """A candidate in the notation of the command line: ``short:prompt=@short.txt,temperature=0``.

    Args:
        text: The candidate. A value that is no JSON is a string; ``@FILE`` is the content of the file. A name alone
            changes nothing: today's code on the recorded answers.
        read: Reads a text file, by its path.
        commit: Gives the commit that a revision names now.

    Raises:
        UsageError: The text has another form, or names nothing that can be changed.
    """
    name, _, rest = text.partition(":")
    if not _NAME.fullmatch(name):
        raise _wrong(f"{text!r} names no candidate", f"it is written {_FORM}")
    told: dict[str, Any] = {"params": {}, "flags": {}}
    for part in _NEXT.split(rest) if rest else ():
        key, equals, value = part.partition("=")
        if not (key and equals):
            raise _wrong(f"{part!r} in candidate {name} is not of the form k=v", f"it is written {_FORM}")
        _told(told, name, key, read(value[1:]) if value.startswith("@") else value, commit)
    rewrites = told.get("model") is not None or told.get("prompt") is not None or bool(told["params"])
    if rewrites and told.setdefault("live", "changed") not in ("changed", "model"):
        raise _wrong(
            f"candidate {name} changes what models are asked, and live={told['live']}",
            "a recorded answer does not answer another request; answers=@FILE gives scripted ones",
        )
    return Candidate(name, **told)


def _told(told: dict[str, Any], name: str, key: str, text: str, commit: Callable[[str], str]) -> None:
    """Note one ``k=v`` of a candidate."""
    group, _, rest = key.partition(".")
    if group in ("param", "flag") and rest:
        told[f"{group}s"][rest] = _value(text)
    elif key in PARAMETERS:
        told["params"][key] = _value(text)
    elif key in ("model", "prompt"):
        told[key] = text
    elif key == "rev" and text:
        told["rev"] = commit(text)
    elif key == "answers":
        told["answers"] = scripted(text)
    elif key == "live" and text in LIVE:
        told["live"] = text
    else:
        raise _wrong(
            f"candidate {name} cannot have {key}={text[:60]}",
            f"there are model, prompt, rev, live ({', '.join(LIVE)}), answers, {', '.join(PARAMETERS)}, param.NAME"
            " and flag.NAME",
        )


def scripted(text: str) -> tuple[ScriptedAnswer, ...]:
    """Scripted answers from a JSON list of ``{"call": NAME, "value": …, "arguments": {…}}``.

    Raises:
        UsageError: The text is no such list.
    """
    try:
        return tuple(ScriptedAnswer(**each) for each in json.loads(text))
    except (TypeError, ValueError) as error:
        raise _wrong(
            f"these are no scripted answers: {error}",
            'they are a JSON list of {"call": NAME, "value": …}, with "arguments" where not every call is meant',
        ) from None


def _value(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _wrong(what: str, cause: str) -> UsageError:
    return UsageError(what, cause=cause, next_command="reenact experiment --help")
