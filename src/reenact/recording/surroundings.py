"""What a run says of where it begins: its process, its variables, and which of them hold credentials.

A process in which many runs are judged and thrown away begins each of them in the same place. So what was found out
once is given again there, for as long as variables, folder and policy are the same.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from reenact.facts.call import Json
from reenact.facts.conventions import VARIABLES, conventional
from reenact.facts.known import Known, same_values
from reenact.facts.policy import Policy
from reenact.facts.variables import chosen, is_kept, is_ours, is_secret
from reenact.recording.kit import LOCALE, process_facts
from reenact.seams.machine import facts as machine_facts
from reenact.seams.setting import folder_now, variables_now

_SEED = "PYTHONHASHSEED"
_ASKED = VARIABLES | {"TZ", *LOCALE}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a run begins.

    Attributes:
        facts: What goes into ``Run.environment``.
        known: Credentials that its variables hold.
        same: Which of these variables hold the same.
        spotless: Facts in which the redaction of such runs has found nothing; None where that is not remembered.
    """

    facts: Mapping[str, Json]
    known: Known
    same: Mapping[str, str]
    spotless: dict[str, Json] | None = None


def surroundings(policy: Policy) -> Surroundings:
    """Where a run begins now. About 0.3 ms."""
    return _found(policy, os.environ)


def _found(policy: Policy, variables: Mapping[str, str]) -> Surroundings:
    named = chosen(variables, policy.env)
    secrets = named["env_secret"]
    facts = {
        **process_facts(variables),
        **named,
        "hash_seed_set": variables.get(_SEED, ""),
        "conventional": conventional(variables),
    }
    return Surroundings(facts, Known(variables, secrets, fields=policy.redact), same_values(variables, secrets))


_last: tuple[object, Surroundings] | None = None


def same_surroundings(policy: Policy) -> Surroundings:
    """The same for a run that nobody keeps: found out anew only where something has changed. About 20 µs.

    What the program can see of its standard streams is as it was when this was found out."""
    global _last
    variables = {name: value if _told(name, policy.env) else "" for name, value in variables_now().items()}
    place = (variables, folder_now(), time.tzname, tuple(sys.orig_argv), policy.env, dict(policy.redact))
    if _last is None or _last[0] != place:
        _last = (place, replace(_found(policy, variables), spotless={}))
    found = _last[1]
    return replace(found, facts={**found.facts, **machine_facts()})


@lru_cache(maxsize=4096)
def _told(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a run says anything of a variable but its name. pytest sets one anew for each test, and a warm
    interpreter's children have one of their own each, of which it says nothing."""
    if is_ours(name):
        return name == _SEED
    return is_secret(name) or is_kept(name, patterns) or name in _ASKED
