"""The surroundings of a run's beginning: its process, its variables, and which of them hold credentials.

A process that judges many runs and throws them away begins each of them in the same surroundings. So they are gathered
once, and reused as long as variables, folder and policy are the same.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from functools import lru_cache

from reenact.facts.call import Json
from reenact.facts.conventions import VARIABLES, conventional
from reenact.facts.known_credentials import KnownCredentials, same_values
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.policy import Policy
from reenact.facts.variables import chosen, is_kept, is_ours, is_secret
from reenact.recording.process_facts import LOCALE, process_facts
from reenact.seams.machine import facts as machine_facts
from reenact.seams.process_setting import folder_now, variables_now

_SEED = "PYTHONHASHSEED"
_ASKED = VARIABLES | {"TZ", *LOCALE}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a run's beginning.

    Attributes:
        facts: The content of ``Run.environment``.
        known: The credentials in its variables.
        same: The variables whose credentials are equal.
        spotless: The facts in which redaction has found nothing; None where that is not remembered.
    """

    facts: Mapping[str, Json]
    known: KnownCredentials
    same: Mapping[str, str]
    spotless: dict[str, Json] | None = None


def surroundings(policy: Policy) -> Surroundings:
    """The surroundings now. About 0.3 ms."""
    return _found(policy, os.environ)


def _found(policy: Policy, variables: Mapping[str, str]) -> Surroundings:
    named, known, same = _told_by(policy, variables)
    return Surroundings(_facts(variables, named), known, same)


def _told_by(policy: Policy, variables: Mapping[str, str]) -> tuple[dict[str, Json], KnownCredentials, dict[str, str]]:
    """The variables to keep, the credentials in them, and the variables with equal credentials."""
    named = chosen(variables, policy.env)
    secrets = named["env_secret"]
    return named, KnownCredentials(variables, secrets, fields=policy.redact), same_values(variables, secrets)


def _facts(variables: Mapping[str, str], named: Mapping[str, Json]) -> dict[str, Json]:
    return {
        **process_facts(variables),
        **named,
        "hash_seed_set": variables.get(_SEED, ""),
        "conventional": conventional(variables),
    }


_Told = tuple[dict[str, Json], KnownCredentials, dict[str, str], dict[str, Json]]

_last: tuple[object, Surroundings] | None = None
_last_told: tuple[object, _Told] | None = None


def same_surroundings(policy: Policy) -> Surroundings:
    """The surroundings for a run that is not kept. They are gathered again only after a change. Takes about 20 µs.

    The standard streams are described as they were at first. Facts in which redaction has found nothing are not
    searched again while the credentials are the same. This holds even if other facts have changed: a child of the fork
    server has its own command line."""
    global _last, _last_told
    variables = {name: value if _told(name, policy.env) else "" for name, value in variables_now().items()}
    saying = (variables, policy.env, dict(policy.redact))
    place = (saying, folder_now(), time.tzname, tuple(sys.orig_argv))
    if _last_told is None or _last_told[0] != saying:
        _last_told = (saying, (*_told_by(policy, variables), {}))
    if _last is None or _last[0] != place:
        named, known, same, spotless = _last_told[1]
        _last = (place, Surroundings(_facts(variables, named), known, same, spotless))
    found = _last[1]
    return Surroundings({**found.facts, **machine_facts()}, found.known, found.same, found.spotless)


@lru_cache(maxsize=4096)
def _told(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a run records more of a variable than its name. Of two variables only the names are recorded: the one
    that pytest sets for each test, and the one that each child of the fork server has."""
    if is_ours(name):
        return name == _SEED
    return is_secret(name) or is_kept(name, patterns) or name in _ASKED
