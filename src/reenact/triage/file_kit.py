"""The kit of a run that was made of another tool's exchanges: what its file holds, and how faithfully; the rest is
absent.

Such a file has no program, so nothing of a process is looked for: neither its sources nor its packages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reenact.facts.imported_runs import NOTE, says_asked_again
from reenact.facts.kit import Bucket, Item, ItemState, Stops
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run
from reenact.facts.trace_runs import Grade

_RECORD: Final = "reenact record -- python agent.py"
_PROCESS: Final = frozenset({"sources", "packages", "python", "hash_seed", "locale", "time_zone", "variables"})
_UNSAID: Final[Mapping[str, str]] = {"system_prompt": "system", "tool_schemas": "tools", "parameters": "temperature"}
"""Items, and the field of a request that holds them in a file of conversations."""


def of_file(run: Run, found: Iterable[Item]) -> Iterator[Item]:
    """The items of the kit of an imported run, with words and fidelities for an import.

    Args:
        run: The run.
        found: The items of the run's kit, judged as those of a recording.
    """
    said = (run.capture.get(NOTE) or {}).get("remarks")
    asked_again = isinstance(said, Mapping) and any(map(says_asked_again, said))
    grade = Grade.SEMANTIC if asked_again else Grade.EXACT
    form = run.entry.target.partition(" ")[0]
    for item in found:
        if item.name in _PROCESS and not item.there:
            continue
        told = _as_imported(run, item, form)
        own = Grade.ABSENT if not told.there else Grade.EXACT if told.name == "run" else grade
        yield replace(told, fidelity=own.value)
    about = "packages, Python, locale, variables, flags: the file holds none of them"
    yield Item(
        Bucket.ENVIRONMENT, "surroundings", ItemState.MISSING, about, capture=(_RECORD,), expected=False,
        fidelity=Grade.ABSENT.value,
    )  # fmt: skip


def _as_imported(run: Run, item: Item, form: str) -> Item:
    if item.name == "input" and not item.there:
        return replace(item, stops=Stops.CODE)  # the user gives the program
    if item.name == "commit" and not item.there:
        about, way = "the file does not name the code's revision", f"reenact import {form} FILE --tag commit=…"
        return replace(item, about=about, capture=(way,))
    field = _UNSAID.get(item.name)
    if f"unsaid: {field}" in run.capture.get("ignore", {}):
        way = f"reenact import {form} FILE --param {field}=…"
        return replace(item, standing=ItemState.MISSING, about="the file does not say it", capture=(way, _RECORD))
    return item
