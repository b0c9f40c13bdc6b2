"""A candidate: what is done differently from the recorded run in each row of an experiment, as one frozen value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.lazy_regex import lazy_regex
from reenact.testing.goldens.golden import Scripted
from reenact.testing.goldens.golden_misses import Misses
from reenact.timetravel.forks.plan import Opening, Plan

Live = Literal["none", "missing", "changed", "model"]
LIVE: Final[tuple[Live, ...]] = ("none", "missing", "model")
"""What a person may say; ``changed`` is how a candidate is that changes what models are asked."""

_OPENING: Final[Mapping[Live, Opening]] = {"none": "none", "missing": "none", "changed": "reads", "model": "model"}
"""What goes live although it has an answer, as a fork says it; ``reads`` is, besides what has none, what is changed."""

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
        name: What it is called.
        model: Another model, ``prompt`` another system prompt, ``params`` parameters, in every model request.
        flags: What feature flags evaluate to.
        rev: Revision whose code runs; empty takes the files as they are.
        live: Which models are asked: none; those whose answer is missing; those whose request is changed, and missing
            ones (``changed``); all (``model``).
        answers: Scripted answers, which come before anything that would go live.
    """

    name: str
    model: str | None = None
    prompt: str | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    flags: Mapping[str, Json] = field(default_factory=dict)
    rev: str = ""
    live: Live = "none"
    answers: tuple[Scripted, ...] = ()

    @property
    def plan(self) -> Plan:
        """It as a fork at the first event."""
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
        """What becomes of a call that nobody has an answer for."""
        return "stale" if self.live == "none" else "models"

    @property
    def about(self) -> str:
        """What is different, in words."""
        told = "; ".join(self.plan.changes) or "nothing changed"
        return told + (f"; {len(self.answers)} scripted answers" if self.answers else "")

    def to_json(self) -> dict[str, Any]:
        """As JSON-able data."""
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
        return cls(**{**data, "answers": tuple(Scripted(**each) for each in data["answers"])})


def parse_candidate(text: str, read: Callable[[str], str], commit: Callable[[str], str]) -> Candidate:
    """A candidate as it is written on a command line: ``short:prompt=@short.txt,temperature=0``.

    Args:
        text: It. A value that is no JSON is a string; ``@FILE`` is what the file holds. Without anything behind the
            name, nothing is changed: today's code on what was recorded.
        read: Reads a text file, by its path.
        commit: Gives the commit that a revision is now.

    Raises:
        UsageError: It is not of that form; there is nothing of that name to change.
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


def scripted(text: str) -> tuple[Scripted, ...]:
    """Scripted answers from a JSON list of ``{"call": NAME, "value": …, "arguments": {…}}``.

    Raises:
        UsageError: It is none.
    """
    try:
        return tuple(Scripted(**each) for each in json.loads(text))
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
