"""The recorded code against today's: which of the source files that a run has loaded say something else now.

Asked for only where a replay ended otherwise, because a difference is read in another way when the code has changed.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from reenact.abc.store import Store
from reenact.errors import StoreError
from reenact.facts.ids import tail
from reenact.facts.run import Run

PROCESS: Final = "kit.process"
"""The note with the digests of a run's own source files."""
_SHOWN: Final = 3
_COMMIT: Final = 7
_READ: Final = (256 << 10) + 1
"""Bytes of a file that its recorded digest is of (``recording.source_files``)."""


def sources_of(store: Store, run: Run) -> Mapping[str, str]:
    """Digests of the source files that a run has loaded, by path; empty where they were not kept.

    Args:
        store: Holds it, and mostly the run whose note it names.
        run: The run.
    """
    return _kept(store, run, "sources")


def texts_of(store: Store, run: Run) -> Mapping[str, str]:
    """The source files themselves, by path; empty where they were not kept.

    Args:
        store: As for ``sources_of``.
        run: The run.
    """
    return _kept(store, run, "texts")


def _kept(store: Store, run: Run, what: str) -> Mapping[str, str]:
    note = _note(store, run.id)
    holder = note.get("held_by")
    if isinstance(holder, str):
        held = _note(store, holder)
        note = held if held.get("digest") == note.get("digest") else {}
    found = note.get(what)
    return {str(path): str(said) for path, said in found.items()} if isinstance(found, Mapping) else {}


def _note(store: Store, run_id: str) -> Mapping[str, Any]:
    try:
        found = store.open(store.run(run_id)).notes(None).get(PROCESS)
    except StoreError:
        return {}
    return found if isinstance(found, Mapping) else {}


def changed_files(sources: Mapping[str, str], folder: str) -> list[str]:
    """Which of them differ from what lies in a folder today, in order; one that is gone is among them.

    Args:
        sources: Digests by path.
        folder: What relative paths start from.

    Cost: a read of each file.
    """
    return [path for path, digest in sorted(sources.items()) if _digest(os.path.join(folder, path)) != digest]


def changed_functions(texts: Mapping[str, str], folder: str, names: Collection[str]) -> dict[str, str]:
    """Which functions do something else today, with the file of each; one that is nowhere today is none of them.

    A function is known by its name, or by the ``name`` that its decorator gives it. The functions of its file that it
    uses, and those that they use, count as parts of it. Comments and the lay-out of the text do not count.

    Args:
        texts: The recorded source files, by path.
        folder: What relative paths start from.
        names: Of the functions.

    Cost: a read of each file; each that differs and holds one of the names is parsed, then and now.
    """
    found: dict[str, str] = {}
    for path, then in sorted(texts.items()):
        held = [name for name in names if name in then]
        now = _text(os.path.join(folder, path)) if held else then
        if now != then:
            before, today = _functions(then), _functions(now)
            found |= {name: path for name in held if name in today and before.get(name) not in (None, today[name])}
    return found


def _functions(text: str) -> dict[str, frozenset[str]]:
    """Each function of a source text, as what it and the functions that it uses say."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    own = {name: node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) for name in _names_of(node)}
    uses = {
        name: own.keys() & {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        for name, node in own.items()
    }
    said = {name: ast.dump(node) for name, node in own.items()}
    return {name: frozenset(said[part] for part in _reached(name, uses)) for name in own}


_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def _names_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    yield node.name
    for call in node.decorator_list:
        for option in call.keywords if isinstance(call, ast.Call) else ():
            if option.arg == "name" and isinstance(option.value, ast.Constant):
                yield str(option.value.value)


def _reached(name: str, uses: Mapping[str, Collection[str]]) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        new = set(uses[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.blake2b(file.read(_READ), digest_size=16).hexdigest()
    except OSError:
        return ""


def in_words(changed: list[str], revision: Mapping[str, Any], run: Run) -> str:
    """What is said of it, with the command that runs the recorded code where a commit holds it; empty where nothing has
    changed.

    Args:
        changed: The files.
        revision: What the run says of its commit, and of what was not committed.
        run: The run.
    """
    if not changed:
        return ""
    commit = str(revision.get("commit") or "")[:_COMMIT]
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    since = f"since {commit}" if commit else "since the recording"
    line = f"the code has changed {since} ({', '.join(changed[:_SHOWN])}{more})"
    if not commit or revision.get("changed"):
        return line
    return f"{line}; `reenact replay {tail(run.id)} --rev {commit}` runs the recorded code"
