"""What a command line lacks where its cursor is: a command, an option, or a value of some kind.

It knows the commands from ``words``, a table made from the commands themselves: to import one of them, and what it
stands on, would take longer than a person waits for a completion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from reenact.interfaces.completion.command_words import WORDS

MORE = "*"
"""Behind the kind of an argument: any number of them may stand there."""


class CursorPlace(NamedTuple):
    """Where the cursor is.

    Attributes:
        kind: What is wanted there: ``run``, ``golden``, ``tag``, ``tool``, ``agent`` …, ``a|b`` for one of a choice;
            empty for nothing that is known.
        before: What stands in front of it in the same word (``--agent=``).
        start: What has been typed of it.
        words: Commands and options that may stand there as well.
        store: ``--store`` of the line; empty without one.
    """

    kind: str
    before: str
    start: str
    words: Sequence[str] = ()
    store: str = ""


class _Spoken(NamedTuple):
    """A command of the table.

    Attributes:
        options: Kind of the value by option; None for one that takes none.
        arguments: Kinds of the arguments, in their order.
    """

    options: dict[str, str | None]
    arguments: list[str]


@cache
def commands() -> Mapping[str, _Spoken]:
    """The table by command, ``golden run`` for one of a group; the empty name is that of the program itself."""
    found = {}
    for text in WORDS.strip().splitlines():
        name, _, rest = text.partition(":")
        spoken = found[name.strip()] = _Spoken({}, [])
        for word in rest.split():
            option, equals, kind = word.partition("=")
            if option.startswith("-"):
                spoken.options[option] = kind if equals else None
            else:
                spoken.arguments.append(word)
    return found


def place_of(words: Sequence[str]) -> CursorPlace:
    """Where the cursor is: at the end of the last word.

    Args:
        words: Those up to the cursor, behind the program's name; the last one may be empty.
    """
    *typed, current = words or [""]
    name, arguments, waiting, literal, store = "", 0, "", False, ""
    for word in typed:
        spoken = commands()[name]
        if waiting:
            store = word if waiting == "--store" else store
            waiting = ""
        elif not literal and word == "--":
            literal = True
        elif not literal and word.startswith("-") and word != "-":
            option, equals, value = word.partition("=")
            if equals:
                store = value if option == "--store" else store
            elif spoken.options.get(option) is not None:
                waiting = option
        elif f"{name} {word}".strip() in commands() and not arguments:
            name = f"{name} {word}".strip()
        else:
            arguments += 1
            literal = literal or spoken.arguments[:1] == ["command"]  # what follows belongs to the program
    spoken = commands()[name]
    if waiting:
        return CursorPlace(spoken.options[waiting] or "", "", current, store=store)
    option, equals, value = current.partition("=")
    if equals and not literal and option in spoken.options:
        return CursorPlace(spoken.options[option] or "", f"{option}=", value, store=store)
    if current.startswith("-") and not literal:
        return CursorPlace("", "", current, sorted(spoken.options), store)
    return CursorPlace(_argument(spoken, arguments), "", current, _below(name) if not arguments else (), store)


def _argument(spoken: _Spoken, number: int) -> str:
    """Kind of the argument of a number, from 0."""
    if number < len(spoken.arguments):
        kind = spoken.arguments[number]
    elif spoken.arguments and spoken.arguments[-1].endswith(MORE):
        kind = spoken.arguments[-1]
    else:
        return "file" if spoken.arguments[-1:] == ["command"] else ""
    return kind.removesuffix(MORE)


def _below(name: str) -> list[str]:
    """Commands that may stand behind one."""
    lead = f"{name} " if name else ""
    return [each[len(lead) :] for each in commands() if each.startswith(lead) and each and " " not in each[len(lead) :]]
