"""A run as JSON in a bundle, without the seal of its recorder; and back, with each field checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.ids import is_run_id
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Entry, Run, Totals
from reenact.store.bundles import limits
from reenact.store.codec import run_data, run_of_data

SEAL: Final = "seal"
"""The field of ``Run.capture`` that proves which user recorded a run. In a file from another machine it proves
nothing."""

_NO_RUN: Final = Run("")


def unsealed(run: Run) -> Run:
    """A run without the seal of its recorder."""
    if SEAL not in run.capture:
        return run
    return replace(run, capture=_without_seal(run))


def _without_seal(run: Run) -> dict[str, Json]:
    return {name: value for name, value in run.capture.items() if name != SEAL}


def run_out(run: Run) -> dict[str, Json]:
    """A run as JSON-able data; fields at their default are left out."""
    data = run_data(run)
    data["capture"] = _without_seal(run)
    data["entry"] = _differing(data["entry"], _DEFAULTS["entry"]) | {"kind": run.entry.kind}
    data["totals"] = _differing(data["totals"], _DEFAULTS["totals"])
    return _differing(data, {**_DEFAULTS, "id": None, "status": None, "started_us": None, "entry": None})


def run_in(data: Any) -> Run:
    """The run of which ``run_out`` made the data.

    Raises:
        ValueError, KeyError, TypeError: The data is no run.
    """
    if type(data) is not dict or type(data.get("entry")) is not dict or type(data.get("totals", {})) is not dict:
        raise TypeError("a run is an object, and so are its entry and its totals")
    run = unsealed(run_of_data({**_DEFAULTS, **data}))
    if not is_run_id(run.id):
        raise ValueError("a run has an id of eighteen letters")
    # A field that is missing in the data has its default.
    for given, made, defaults, place in (
        (data, run, _DEFAULTS, ""),
        (data["entry"], run.entry, _ENTRY, "entry."),
        (data.get("totals", {}), run.totals, _TOTALS, "totals."),
    ):
        for name in given:
            if name in defaults and name not in _LOOKED_INTO:
                value, default = getattr(made, name), defaults[name]
                if type(value) not in _PLAIN or type(value) is not type(default):
                    _check(place + name, value, default)
    words = (*run.entry.argv, *run.entry.own, *run.degraded)
    texts = (*words, *run.tags, *run.tags.values(), *run.files, *run.files.values())
    if not {str}.issuperset(map(type, texts)):
        raise TypeError("the words of a command, tags and files are texts")
    return run


_NO_ENTRY: Final = Entry("block")
_TEXTS: Final = frozenset({"user", "tenant", "session", "flag", "parent"})
_NUMBERS: Final = frozenset({"ended_us", "fork_event", "interrupted_at", "exit_status"})
_PLAIN: Final = frozenset({str, bool, dict, tuple})
"""Types whose every value is valid in a field of the type."""
_DEFAULTS: Final = run_data(replace(_NO_RUN, totals=Totals()))
_ENTRY: Final = {name: getattr(_NO_ENTRY, name) for name in _DEFAULTS["entry"]}
_TOTALS: Final = dict.fromkeys(_DEFAULTS["totals"], 0)
_LOOKED_INTO: Final = frozenset({"entry", "totals"})
"""The fields of a run that have fields of their own, which are checked one by one."""


def _check(name: str, value: Any, default: Any) -> None:
    """Refuse a value whose type differs from that of the field's default."""
    if name in _TEXTS or name in _NUMBERS:
        fits = value is None or type(value) is (str if name in _TEXTS else int)
    elif isinstance(default, str):
        fits = isinstance(value, str)
    else:
        fits = isinstance(value, Mapping) if isinstance(default, Mapping) else type(value) is type(default)
    if not fits or (type(value) is int and abs(value) > limits.TIME):
        raise TypeError(f"{name} of a run is not what it should be")


def _differing(data: Mapping[str, Json], defaults: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in data.items() if value != defaults[name]}
