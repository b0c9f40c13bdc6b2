"""Tools that are answered as recorded although their code has changed since: a golden, and a replay, do not run it."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from reenact.abc.store import Recording, Store
from reenact.facts.call import Effect, Kind
from reenact.facts.run import Run
from reenact.facts.shell_text import typed
from reenact.replaying.code_changes import changed_files, sources_of, texts_of
from reenact.replaying.relocation import relocated
from reenact.replaying.replay_launch import project_of, sources_folder

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def unseen_changes(today: Recording, store: Store, then: Run, folder: str) -> dict[str, str]:
    """The tools whose code has changed since they were recorded, with the file of each.

    A replay gives their recorded answers, so neither a fix in them nor a new fault changes the result of the run.

    Args:
        today: The run of today's code; a tool that it declares to have no effect runs.
        store: The store of the recorded run that answers the run of today's code.
        then: The recorded run.
        folder: The folder in which the recorded run's source files are today.

    Cost: a read of each source file, where a tool is called; the tool calls are read only where a file has changed.
    """
    if next(iter(today.events(kinds=(Kind.TOOL,), limit=1)), None) is None:
        return {}
    changed = changed_files(sources_of(store, then), folder)
    if not changed:
        return {}
    frozen = {event.name for event in today.events(kinds=(Kind.TOOL,)) if event.call.effect is not Effect.NONE}
    # Changes are found by digest, because a credential may have been removed from a recorded text.
    texts = {path: text for path, text in texts_of(store, then).items() if path in changed}
    return changed_functions(texts, folder, frozen)


def unseen_by(store: Store, run: Run, ran: Collection[str]) -> dict[str, str]:
    """``unseen_changes`` of a replay of a run in this project. ``ran``: the tools whose own code it has run."""
    folder = sources_folder(store, *relocated(run, project_of()))
    found = unseen_changes(store.open(run), store, run, folder)
    return {name: path for name, path in found.items() if name not in ran}


def in_words(changed: Mapping[str, str]) -> str:
    """The tools of ``unseen_changes`` in words; empty without one."""
    one, files = len(changed) == 1, ", ".join(dict.fromkeys(changed.values()))
    told = f"{' and '.join(changed)} {'is' if one else 'are'} answered as recorded: {'its' if one else 'their'} code"
    return f"{told} has changed since ({files})" if changed else ""


def through(tool: str, ref: str) -> str:
    """The command that runs the body of a tool on its recorded arguments."""
    return typed(["reenact", "replay", ref, "--through", tool])


def changed_functions(texts: Mapping[str, str], folder: str, names: Collection[str]) -> dict[str, str]:
    """The functions that have changed, with the file of each; a function that no longer exists is not among them.

    A function is known by its name, or by the ``name`` that its decorator gives it. The functions of its file that it
    uses, and those that they use, count as parts of it. Comments and the lay-out of the text do not count.

    Args:
        texts: The recorded source files, by path.
        folder: The folder of relative paths.
        names: The names of the functions.

    Cost: a read of each file; a file that differs and has one of the names is parsed in both versions.
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
    """The functions of a source text, each as its own text and those of the functions that it uses."""
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
