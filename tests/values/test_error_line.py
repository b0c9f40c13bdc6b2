"""An exception is told in one line of its own, whatever was noted on it, and with the agent's line it came from."""

from __future__ import annotations

import pytest

from reenact.facts.error_line import error_line, last_line
from reenact.seams.origins import raised_at


def noted(error: Exception) -> Exception:
    error.add_note("During task with name 'tools'")
    return error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (noted(RuntimeError("declined")), "RuntimeError: declined"),
        (noted(RuntimeError("declined\n\n  code 51\n")), "RuntimeError: declined code 51"),
        (KeyError("x"), "KeyError: 'x'"),
        (RuntimeError(), "RuntimeError"),
        (SyntaxError("invalid syntax", ("agent.py", 2, 1, "x = = 1\n")), "SyntaxError: invalid syntax"),
        (ExceptionGroup("two", [ValueError("a"), noted(ValueError("b"))]), "ExceptionGroup: two (2 sub-exceptions)"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_an_error_is_its_own_line(error: Exception, line: str) -> None:
    assert error_line(error) == line


def test_a_long_error_is_bounded_and_the_old_form_is_still_known() -> None:
    assert len(error_line(ValueError("x" * 10_000))) == 2000
    assert last_line(noted(RuntimeError("declined"))) == "During task with name 'tools'"


def test_the_line_is_the_agents_relative_to_its_project(tmp_path: object) -> None:
    namespace: dict[str, object] = {}
    path = f"{tmp_path}/agent.py"
    source = "import json\n\ndef work():\n    json.loads('{')\n\nwork()\n"
    with pytest.raises(ValueError) as caught:
        exec(compile(source, path, "exec"), namespace)
    assert raised_at(caught.value, str(tmp_path)) == "agent.py:4"
    assert raised_at(ExceptionGroup("", [caught.value]), str(tmp_path)) == "agent.py:4"
    assert raised_at(None, "/") == ""
