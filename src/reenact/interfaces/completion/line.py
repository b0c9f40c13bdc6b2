"""The words that fit at the cursor of a command line: a command, an option, or a value of some kind.

It takes the commands from the table in ``command_words``, which is generated: to import the commands themselves would
take longer than a person waits for a completion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from reenact.interfaces.completion.command_words import WORDS

MORE = "*"
"""A mark after the kind of an argument: it may be repeated."""


class CursorPlace(NamedTuple):
    """Where the cursor is.

    Attributes:
        kind: The kind of value: ``run``, ``golden``, ``tag``, ``tool``, ``agent`` …, ``a|b`` for one of a choice; empty
            where nothing is known.
        before: The text before the cursor's part of the word (``--agent=``).
        start: The part that has been typed.
        words: Commands and options that fit as well.
        store: The value of ``--store`` in the line; empty without one.
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
        arguments: Kinds of the arguments, in their order.
    """

    options: dict[str, str | None]
    arguments: list[str]


@cache
def commands() -> Mapping[str, _CommandWords]:
    """The table by command, such as ``golden run``; the empty name stands for the program itself."""
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
            literal = literal or spoken.arguments[:1] == ["command"]  # the rest belongs to the program
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
    """Kind of the argument of a number, from 0."""
    if number < len(spoken.arguments):
        kind = spoken.arguments[number]
    elif spoken.arguments and spoken.arguments[-1].endswith(MORE):
        kind = spoken.arguments[-1]
    else:
        return "file" if spoken.arguments[-1:] == ["command"] else ""
    return kind.removesuffix(MORE)


def _below(name: str) -> list[str]:
    """The commands below a group."""
    lead = f"{name} " if name else ""
    return [each[len(lead) :] for each in commands() if each.startswith(lead) and each and " " not in each[len(lead) :]]
