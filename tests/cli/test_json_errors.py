"""With ``--json`` an error is one JSON line on standard error, whatever it is and wherever the option stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "error", "code"),
    [
        (("show", "zzzz", "--json"), "RunNotFound", 2),
        (("--json", "show", "zzzz"), "RunNotFound", 2),
        (("show", "@:nothing", "--json"), "EventNotFound", 2),
        (("ls", "--json", "--wat"), "UsageError", 2),
        (("--json", "lss"), "UsageError", 2),
        (("ls", "--json", "--where", "stauts == 1"), "UsageError", 2),
    ],
)
def test_an_error_is_one_line(filled: Any, reenact: Cli, words: tuple[str, ...], error: str, code: int) -> None:
    answer = reenact(*words)
    (line,) = answer.err.splitlines()
    told = json.loads(line)
    assert (answer.code, told["type"], told["exit_code"], answer.out) == (code, "error", code, "")
    assert told["message"] and told["next"].startswith("reenact ")
    assert told["error"] == error or (error == "UsageError" and told["error"].endswith(("Error", "Option", "Command")))


def test_data_behind_the_words_is_in_it(filled: Any, reenact: Cli) -> None:
    told = json.loads(reenact("show", "@:nothing", "--json").err)
    assert told["facts"]["names"] and told["cause"].startswith("its events are ")


def test_a_fault_of_our_own_is_a_line_too(filled: Any, reenact: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr(filled, "runs", broken)
    told = json.loads(reenact("ls", "--json").err)
    assert (told["error"], told["exit_code"], told["message"]) == ("RuntimeError", 70, "unexpected RuntimeError: oops")
