"""Finds the kind of word that fits at the cursor of a command line: a command, an option, or a value of some kind.

It knows the commands from the generated table in ``command_words``, because the import of the commands would take
longer than a person waits for a completion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from reenact.interfaces.completion.command_words import WORDS

MORE = "*"
"""The sign, after the kind of an argument, that the argument may be repeated."""


class CursorPlace(NamedTuple):
    """The place of the cursor.

    Attributes:
        kind: The kind of value: ``run``, ``golden``, ``tag``, ``tool``, ``agent`` …, ``a|b`` for a choice; empty if the
            kind is not known.
        before: The part of the word before the value (``--agent=``).
        start: The part of the value that has been typed.
        words: Commands and options that also fit.
        store: The value of ``--store`` in the line; empty if there is none.
    """

    kind: str
    before: str
    start: str
    words: Sequence[str] = ()
    store: str = ""


class _CommandWords(NamedTuple):
    """A command of the table.

    Attributes:
        options: The kind of value for each option; None for an option without a value.
        arguments: The kinds of its arguments, in order.
    """

    options: dict[str, str | None]
    arguments: list[str]


@cache
def commands() -> Mapping[str, _CommandWords]:
    """The table, by the name of the command, such as ``golden run``; the empty name means the program itself."""
    found = {}
    for text in WORDS.strip().splitlines():
        name, _, rest = text.partition(":")
        spoken = found[name.strip()] = _CommandWords({}, [])
        for word in rest.split():
            option, equals, kind = word.partition("=")
            if option.startswith("-"):
                spoken.options[option] = kind if equals else None
            else:
                spoken.arguments.append(word)
    return found


def place_of(words: Sequence[str]) -> CursorPlace:
    """The place of the cursor, which is the end of the last word.

    Args:
        words: The words up to the cursor, without the program's name; the last one may be empty.
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
            literal = literal or spoken.arguments[:1] == ["command"]  # all further words belong to the program
    spoken = commands()[name]
    if waiting:
        return CursorPlace(spoken.options[waiting] or "", "", current, store=store)
    option, equals, value = current.partition("=")
    if equals and not literal and option in spoken.options:
        return CursorPlace(spoken.options[option] or "", f"{option}=", value, store=store)
    if current.startswith("-") and not literal:
        return CursorPlace("", "", current, sorted(spoken.options), store)
    return CursorPlace(_argument(spoken, arguments), "", current, _below(name) if not arguments else (), store)


def _argument(spoken: _CommandWords, number: int) -> str:
    """The kind of the argument with a number, counted from 0."""
    if number < len(spoken.arguments):
        kind = spoken.arguments[number]
    elif spoken.arguments and spoken.arguments[-1].endswith(MORE):
        kind = spoken.arguments[-1]
    else:
        return "file" if spoken.arguments[-1:] == ["command"] else ""
    return kind.removesuffix(MORE)


def _below(name: str) -> list[str]:
    """The names of the commands in a group."""
    lead = f"{name} " if name else ""
    return [each[len(lead) :] for each in commands() if each.startswith(lead) and each and " " not in each[len(lead) :]]
