"""What a run says of where it begins: its process, its variables, and which of them hold credentials.

A process in which many runs are judged and thrown away begins each of them in the same place. So what was found out
once is given again there, for as long as variables, folder and policy are the same.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from reenact.facts.call import Json
from reenact.facts.conventions import conventional
from reenact.facts.known import Known, same_values
from reenact.facts.policy import Policy
from reenact.facts.spans import Exhausted
from reenact.facts.variables import chosen
from reenact.privacy import make_redactor
from reenact.recording.kit import process_facts
from reenact.seams.machine import facts as machine_facts
from reenact.seams.setting import variables_now


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a run begins.

    Attributes:
        facts: What goes into ``Run.environment``.
        known: Credentials that its variables hold.
        same: Which of these variables hold the same.
        spotless: Those of ``facts`` in which the redaction of such a run finds nothing, where that was tried.
    """

    facts: Mapping[str, Json]
    known: Known
    same: Mapping[str, str]
    spotless: Mapping[str, Json] = field(default_factory=dict)


def surroundings(policy: Policy) -> Surroundings:
    """Where a run begins now. About 0.3 ms."""
    return _found(policy, os.environ)


def _found(policy: Policy, variables: Mapping[str, str]) -> Surroundings:
    named = chosen(variables, policy.env)
    secrets = named["env_secret"]
    facts = {
        **process_facts(variables),
        **named,
        "hash_seed_set": variables.get("PYTHONHASHSEED", ""),
        "conventional": conventional(variables),
    }
    return Surroundings(facts, Known(variables, secrets, fields=policy.redact), same_values(variables, secrets))


_last: tuple[object, Surroundings] | None = None


def same_surroundings(policy: Policy) -> Surroundings:
    """The same for a run that nobody keeps: found out anew only where something has changed. About 5 µs.

    What the program can see of its standard streams is as it was when this was found out."""
    global _last
    variables = variables_now()
    place = (variables, _folder(), time.tzname, tuple(sys.orig_argv), policy.env, dict(policy.redact))
    if _last is None or _last[0] != place:
        found = _found(policy, variables)
        _last = (place, replace(found, spotless=_spotless(policy, found)))
    found = _last[1]
    return Surroundings({**found.facts, **machine_facts()}, found.known, found.same, found.spotless)


def _spotless(policy: Policy, found: Surroundings) -> dict[str, Json]:
    try:
        cleaned = make_redactor(policy=policy, known=found.known).surroundings(found.facts)
    except Exhausted:  # each run looks by itself, and withholds what it cannot clean
        return {}
    return {name: value for name, value in found.facts.items() if cleaned[name] == value}


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been removed under the process
        return ""
