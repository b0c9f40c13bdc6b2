"""Proves that a tool which the model used and which is not recorded is named, where a replay may find another world."""

from __future__ import annotations

import threading
import time
import urllib.request
from pathlib import Path

import pytest

from reenact.testing.provider import Route, Rule, Script, ScriptedProvider, ToolUse, When
from tests.kit.recorded import Workbench
from tests.programs import read_program

PROGRAM = read_program("kit/tools_without_a_decorator.py")


SERVER = """
from wsgiref.simple_server import make_server

def app(environ, start):
    exec(PROGRAM, {})
    start("200 OK", [])
    return [b"answered"]

with make_server("127.0.0.1", 0, app) as server:
    with open("port.new", "w") as file:
        file.write(str(server.server_port))
    os.replace("port.new", "port")
    server.handle_request()
"""


def test_the_last_line_of_a_server_names_one_that_a_request_used(tmp_path: Path) -> None:
    script = Script(
        rules=(Rule(uses=(ToolUse("read", {"order": "17"}),), when=When(results=False)), Rule(say="On its way."))
    )
    desk, port, answers = Workbench(tmp_path), tmp_path / "port", []

    def ask() -> None:
        for _ in range(600):
            if port.exists():
                with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text()}/", timeout=60) as response:
                    answers.append(response.read())
                return
            time.sleep(0.05)

    for name in ("order.json", "settings.json"):
        (tmp_path / name).write_text('{"order": 17}', encoding="utf-8")
    with ScriptedProvider(script) as provider:
        program = PROGRAM.replace('"URL"', repr(provider.url)).replace("sys.argv[1:]", "['read']")
        desk.script(f"import os\nPROGRAM = {program!r}\n{SERVER}")
        client = threading.Thread(target=ask)
        client.start()
        said = desk.record("agent.py").stderr
        client.join()
    assert answers == [b"answered"] and "1 request" in said, said
    assert "the model used read, which is not recorded: it runs again in every replay" in said, said


@pytest.mark.parametrize(
    ("tools", "bare"),
    [
        ("read", "read, which is"),
        ("read act", "read, which is"),
        ("read pure", "read, pure, which are"),
        ("pure", ""),
        ("ask", "ask, which is"),
        ("only_asks", ""),
        ("only_asks decorated", ""),
        ("decorated", ""),
        ("renamed", ""),
    ],
)
def test_a_tool_that_runs_again_is_named_when_it_is_recorded(tmp_path: Path, tools: str, bare: str) -> None:
    uses = tuple(ToolUse(name, {"order": "17"}) for name in tools.split())
    script = Script(
        rules=(Rule(uses=uses, when=When(results=False)), Rule(say="On its way.")),
        routes=(Route("/stock", {"left": 3}),),
    )
    desk = Workbench(tmp_path)
    for name in ("order.json", "settings.json"):
        (tmp_path / name).write_text('{"order": 17}', encoding="utf-8")
    with ScriptedProvider(script) as provider:
        desk.script(PROGRAM.replace('"URL"', repr(provider.url)))
        said = desk.record("agent.py", *tools.split()).stderr
    assert ("again in every replay" in said) is bool(bare), said
    assert f"the model used {bare}" in said if bare else "the model used" not in said, said
    item = desk.kit().items.get("undecorated_tools")
    if bare:
        assert item is not None and item["standing"] == "partial" and item["capture"] and item["events"], item
        assert desk.kit().whole["verdict"] == "replays as code"
    else:
        assert item is None or (tools == "pure" and item["standing"] == "captured"), item
