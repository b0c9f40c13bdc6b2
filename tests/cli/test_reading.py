"""ls, show, cat, flag and tag print what was recorded: data on stdout, talk on stderr, exact bytes as they are."""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing as closing_file
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import RunNotFound
from reenact.facts.call import Effect, Kind
from reenact.facts.ids import tail
from reenact.facts.run import Status
from reenact.interfaces.cli import run_opening
from reenact.store import open_store
from reenact.store.sqlite_store import SqliteStore
from tests.cli import scenes
from tests.store.records import closing, new_run
from tests.store.records import opening as opening_records

Cli = Callable[..., Any]


def test_an_empty_store_says_what_to_do(reenact: Cli) -> None:
    answer = reenact("ls")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == "no runs yet\nnext: reenact record -- python YOUR_PROGRAM.py\n"
    assert reenact("ls", "--json").err == ""


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ("desk.py test_desk.py", "desk.py"),
        ("desk.py main.py", "main.py"),
        ("desk.py agent.py", "agent.py"),
        ("desk.py shop.py", "YOUR_PROGRAM.py"),
    ],
)
def test_the_first_command_names_a_program_that_is_there(files: str, named: str, reenact: Cli) -> None:
    for name in files.split():
        Path(name).touch()
    assert reenact("ls").err == f"no runs yet\nnext: reenact record -- python {named}\n"


def test_an_option_that_is_a_name_of_expressions_says_so(reenact: Cli) -> None:
    answer = reenact("ls", "--flagged")
    assert answer.code == 2 and "flagged is a name for --where EXPR" in answer.err and "--failed" not in answer.err
    assert "did you mean --failed?" in reenact("ls", "--fialed").err


def test_where_no_run_failed_a_flag_is_named() -> None:
    with open_store("memory:") as store, pytest.raises(RunNotFound, match="`reenact flag @ 'why it is wrong'`"):
        store.run("@failed")


def test_ls_is_a_table_newest_first(filled: Any, reenact: Cli) -> None:
    answer = reenact("ls")
    assert answer.lines[0].split() == [
        "RUN", "WHEN", "AGENT", "STATUS", "EVENTS", "MODELS", "TOOLS", "DURATION", "QUESTION",
    ]  # fmt: skip
    assert [line.split()[0] for line in answer.lines[1:]] == [tail(run.id) for run in filled.runs()]
    assert answer.err.startswith("next: reenact show ")


def test_ls_hands_filters_to_the_store(filled: Any, reenact: Cli) -> None:
    reenact("ls", "--failed", "--tenant", "acme", "--tag", 'owner="ann"', "-k", "refund", "-n", "3")
    assert filled.filters[-1] == {
        "failed": True,
        "tenant": "acme",
        "tag": {"owner": "ann"},
        "text": "refund",
        "limit": 3,
    }
    reenact("ls", "--since", "2h")
    assert filled.filters[-1].keys() == {"since_us"}
    assert reenact("ls", "--user", "nobody").err.startswith("no matching runs")


def test_ls_says_what_is_found_by_an_index(filled: Any, reenact: Cli) -> None:
    where = "tenant == 'acme' and tokens > 200 and calls(search_docs) > 5"
    answer = reenact("ls", "--explain", "--json", "--user", "u_17", "--where", where)
    assert answer.code == 0
    said = [" ".join(line.split()) for line in answer.err.splitlines()]
    assert said[:4] == [
        "reenact: --user without an index: all runs are in memory",
        "reenact: tenant == 'acme' without an index: all runs are in memory",
        "reenact: tokens > 200 the row of each run that is left is read",
        "reenact: calls(search_docs) > 5 the events of each run that is left are read",
    ]
    assert filled.filters[-1] == {"user": "u_17", "tenant": "acme"}


def test_ls_explains_a_store_in_a_file(tmp_path: Path, reenact: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "store.db"
    with SqliteStore(place) as store:
        log = store.begin(run := new_run(tenant="acme"))
        log.write([*opening_records(run), closing(run)])
        log.close()
    monkeypatch.setattr(run_opening, "open_store", lambda url=None: SqliteStore(place))
    words = ("ls", "--explain", "--tenant", "acme", "-k", "refund")
    assert [" ".join(line.split()) for line in reenact(*words).err.splitlines()[:2]] == [
        "reenact: --tenant by an index",
        "reenact: -k by an index",
    ]
    with closing_file(sqlite3.connect(place)) as connection:
        connection.execute("DROP INDEX run_found")
        connection.commit()
    assert "without an index: the row of each run is read, until `reenact gc` has made one" in reenact(*words).err


@pytest.mark.parametrize(
    ("where", "agents"),
    [
        ("calls(search_docs) > 5", ["docs"]),
        ("failed and not calls(search_docs)", ["order-lookup"]),
        ("cost < 1", ["steps"]),
        ("cost == None", ["order-lookup", "docs"]),
        ("tag(owner) == 'ann' and tags['owner'] == 'ann'", ["docs"]),
        ("all(a['query'] == 'refund policy' for a in args(search_docs)) and calls(search_docs) > 1", ["docs"]),
        ("result(search_docs)[0]['count'] == 0", ["docs"]),
        ("'shipped' in answer", ["steps"]),
        ("answer == 'no answer'", ["docs"]),
        ("state['text'] == 'done'", ["steps"]),
        ("tokens > 200", ["docs"]),
        ("tokens == None", ["order-lookup"]),
        ("args == 'what is the refund policy?'", ["docs"]),
        ("2 < duration < 3", ["steps", "order-lookup", "docs"]),
    ],
)
def test_where_filters_by_an_expression(where: str, agents: list[str], filled: Any, reenact: Cli) -> None:
    assert [run["agent"] for run in reenact("ls", "--json", "--where", where).data] == agents


def test_where_that_no_run_fits_lists_the_names_there_are(filled: Any, reenact: Cli) -> None:
    answer = reenact("ls", "--where", "calls(get_stock) > 0")
    newest = tail(next(iter(filled.runs())).id)
    assert (answer.code, answer.out) == (0, "")
    first, told, onward = answer.err.splitlines()
    assert (first, onward) == ("no matching runs", "next: reenact ls")
    assert told.startswith(f"run {newest}, the newest: nothing is called get_stock there; the names are "), told


def test_where_is_checked_before_anything_is_read(filled: Any, reenact: Cli) -> None:
    answer = reenact("ls", "--where", "stauts == 1")
    assert answer.code == 2 and "did you mean status?" in answer.err
    assert filled.filters == []


def test_show_folds_the_loop_and_marks_it(filled: Any, reenact: Cli) -> None:
    answer = reenact("show", "--no-pager", tail(next(r.id for r in filled.runs() if r.agent == "docs")))
    text = answer.out
    assert "timeout" in answer.lines[0] and "docs@1.2" in answer.lines[0]
    assert 'temperature=0.7 -> search_docs(query="refund policy")' in text
    assert text.count('(query="refund policy") -> {"docs": [], "count": 0}') == 1
    (folded,) = [line for line in answer.lines if "again" in line]
    assert "19 more times, identical arguments: " in folded and "<- suspicious" in folded
    assert folded.split()[0] == "4..60"
    assert [line.split()[0] for line in answer.lines][-4:] == ["answer", "hint", "then", "then"] and len(
        answer.lines
    ) < 12


def test_show_all_folds_nothing(filled: Any, reenact: Cli) -> None:
    run = next(r.id for r in filled.runs() if r.agent == "docs")
    lines = [line for line in reenact("show", run, "--all").lines if line.split()[0].isdigit()]
    assert len(lines) == 61
    assert sum("<- the same as #3" in line for line in lines) == 19


def test_show_marks_errors_and_neutralises_recorded_text(filled: Any, reenact: Cli) -> None:
    answer = reenact("show", "@failed")
    assert answer.code == 0
    run = next(r for r in filled.runs() if r.agent == "order-lookup")
    lines = reenact("show", run.id).lines
    marks = [line.rpartition("<- ")[2] for line in lines if "<- " in line]
    assert marks == ["status 429", "error", "no answer"]
    told = [line for line in lines if line.split()[0].isdigit()]
    assert "SMTPException: mailbox full" in told[3]
    assert told[1].split()[1] == "http" and "    http" in told[1], "a nested exchange is indented"
    assert "\x1b" not in reenact("show", f"{run.id}:1").out


def test_show_a_stretch(filled: Any, reenact: Cli) -> None:
    run = next(r for r in filled.runs() if r.agent == "docs")
    assert [line.split()[0] for line in reenact("show", f"{run.id}:2..3").lines[1:]] == ["2", "3"]
    assert [each["event"] for each in reenact("show", "--json", f"{run.id}:4..6").data[1:]] == [4, 5, 6]


def test_show_an_event(filled: Any, reenact: Cli) -> None:
    run = next(r for r in filled.runs() if r.agent == "docs")
    answer = reenact("show", f"{run.id}:search_docs#2")
    assert answer.lines[0].startswith("#6  tool  search_docs  (read)")
    for words in (
        "source    agent.py:41",
        "lane      root, its call 6",
        '"query": "refund policy"',
        '"count": 0',
        "took 400 µs",
    ):
        assert words in answer.out
    model = reenact("show", f"{run.id}:2").out
    assert "sonnet-test" in model and "reading" in model and "status: 200" in model
    assert answer.err == f"next: reenact cat {tail(run.id)}:6.response.body\n"


def test_show_an_input_as_what_was_given_and_lead_to_its_bytes(record_store: Any, reenact: Cli) -> None:
    scene = scenes.Scene(record_store, 9, agent="given")
    body = b'{"args": [39, 2], "kwargs": {}}'
    scene.issue(Kind.INPUT, "arguments", body, observed=True, effect=Effect.NONE)
    scene.close(Status.OK)
    answer = reenact("show", "@:0")
    assert "  input" in answer.lines and "never" not in answer.out and "request" not in answer.out
    onward = answer.err.removeprefix("next: reenact ").split()
    assert reenact(*onward).raw == body
    empty = reenact("cat", "@:0.response.body")
    assert (empty.raw, empty.err.splitlines()) == (
        b"",
        ["reenact: that part of #0 is empty", answer.err.strip()],
    )


def test_the_error_of_a_call_that_raised_is_printed_and_found(record_store: Any, reenact: Cli) -> None:
    scene = scenes.Scene(record_store, 9, agent="raising")
    scene.fail("pay", "builtins.RuntimeError", "declined\nby the bank")
    scene.tool("look", "lamp", text="lit")
    scene.close(Status.OK)
    nothing = reenact("cat", "@:pay#1")
    said, onward = nothing.err.splitlines()
    assert (nothing.raw, said) == (b"", "reenact: #0 has no answer: it raised RuntimeError: declined by the bank")
    error = {"type": "builtins.RuntimeError", "text": "declined\nby the bank"}
    for words in (onward.removeprefix("next: reenact ").split(), ("cat", "@:pay#1.error")):
        assert json.loads(reenact(*words).out) == error
    assert reenact("cat", "@:0.error.text").out == "declined\nby the bank\n"
    lacks = reenact("cat", "@:look#1.error").err
    assert "the event of #1 has no error" in lacks and "error," not in lacks


def test_lines_of_recorded_text_are_told_apart_without_escapes(record_store: Any, reenact: Cli) -> None:
    scene = scenes.Scene(record_store, 9, agent="lines")
    scene.tool("note", "two\nlines", text="one\ntwo")
    scene.fail("pay", "builtins.RuntimeError", "declined\nby the bank")
    scene.close(Status.FAILED, error="RuntimeError: declined by the bank")
    out = reenact("show", "@").out
    assert 'note(text="one⏎two") -> "two⏎lines"' in out and "RuntimeError: declined by the bank" in out
    assert "\\n" not in out
    onward = reenact("show", "@:1").err.removeprefix("next: reenact ").split()
    assert json.loads(reenact(*onward).out)["text"] == "declined\nby the bank"


def test_show_state_lists_declared_and_derived_steps(filled: Any, reenact: Cli) -> None:
    out = reenact("show", "@", "--state").out
    assert "step 0  plan  #0..1" in out and 'in     {"docs": []}' in out and 'out    {"docs": ["a"]}' in out
    run = next(r for r in filled.runs() if r.agent == "docs")
    steps = reenact("show", run.id, "--state", "--json").data[1:]
    assert len(steps) == 20
    assert steps[0]["tool"] == "search_docs" and steps[0]["arguments"] == {"query": "refund policy"}
    assert steps[0]["result"] == {"docs": [], "count": 0} and steps[0]["events"] == [2, 3]
    assert steps[0]["decision"]["tool_calls"] == [{"name": "search_docs", "arguments": {"query": "refund policy"}}]
    assert steps[0]["duration_us"] == 1400 and steps[0]["timestamp_us"] == run.started_us + 2000


def test_show_oneline_tree_and_next(filled: Any, reenact: Cli) -> None:
    assert len(reenact("show", "--oneline").lines) == 1
    assert len(reenact("show", "--tree").lines) == 1
    run = next(r for r in filled.runs() if r.agent == "docs")
    assert reenact("show", run.id).err == f"next: reenact replay {tail(run.id)}\n"


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("", b'{"price": 12, "esc": "\\u001b[31mred"}'),
        (".response.body", b'{"price": 12, "esc": "\\u001b[31mred"}'),
        (".request.body", b'{"q": 1}'),
        (".response.body.price", b"12\n"),
        (".response.status", b"200\n"),
        (".request.method", b"POST\n"),
        (".request.headers.0", b'["Content-Type","application/json"]\n'),
        (".kind", b"http\n"),
    ],
)
def test_cat_prints_exactly_what_was_asked(field: str, expected: bytes, filled: Any, reenact: Cli) -> None:
    run = next(r for r in filled.runs() if r.agent == "order-lookup")
    answer = reenact("cat", f"{run.id}:1{field}")
    assert (answer.code, answer.raw, answer.err) == (0, expected, "")


def test_cat_goes_through_odd_keys_and_state(filled: Any, reenact: Cli) -> None:
    run = next(r for r in filled.runs() if r.agent == "order-lookup")
    assert reenact("cat", f"{run.id}:get_order#1.result.a~1b").out.strip() == "1", (
        "tags of encoded values are dissolved"
    )
    assert reenact("cat", f"{run.id}:0.args.order").out == "4421\n"
    assert reenact("cat", "@:0.state.docs").out == '["a"]\n'


def test_cat_prints_a_whole_side_of_an_event(filled: Any, reenact: Cli) -> None:
    run = next(r for r in filled.runs() if r.agent == "order-lookup")
    response = json.loads(reenact("cat", f"{run.id}:1.response").out)
    assert response["status"] == 200
    assert response["body"] == {"price": 12, "esc": "\x1b[31mred"}
    assert json.loads(reenact("cat", f"{run.id}:1.request").out)["body"] == {"q": 1}
    tool = json.loads(reenact("cat", f"{run.id}:get_order#1.request").out)
    assert "headers" not in tool and "order" in json.dumps(tool["body"])


def test_cat_takes_a_connection_apart(record_store: Any, reenact: Cli) -> None:
    scene = scenes.Scene(record_store, 9, agent="wire")
    packed = gzip.compress(b'{"a": [1]}')
    chunked = b"%x\r\n%s\r\n%x;x=y\r\n%s\r\n0\r\n\r\n" % (3, packed[:3], len(packed) - 3, packed[3:])
    raw = b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n" + chunked
    headers = [["Transfer-Encoding", "chunked"], ["Content-Encoding", "gzip"]]
    scene.http(b"", raw, head={"status": 200, "framing": "wire", "headers": headers})
    scene.close(Status.OK)
    assert reenact("cat", "@:0.response.raw").raw == raw
    assert reenact("cat", "@:0.response.body").raw == reenact("cat", "@:0").raw == packed
    assert reenact("cat", "@:0.response.content").raw == b'{"a": [1]}'
    assert reenact("cat", "@:0.response.body.a.0").out == "1\n"


def test_cat_names_what_is_there(filled: Any, reenact: Cli) -> None:
    run = next(r for r in filled.runs() if r.agent == "order-lookup")
    answer = reenact("cat", f"{run.id}:1.response.boddy")
    assert answer.code == 2 and "did you mean body?" in answer.err
    assert reenact("cat", f"{run.id}:99").code == 2
    assert reenact("cat", f"{run.id}").code == 2
    assert "search_docs" in reenact("cat", f"{run.id}:search_docs#3").err


def test_cat_forms(filled: Any, reenact: Cli) -> None:
    run = next(r for r in filled.runs() if r.agent == "order-lookup")
    assert reenact("cat", f"{run.id}:1.request.body", "--hex").out == (
        '00000000  7b 22 71 22 3a 20 31 7d                          |{"q": 1}|\n'
    )
    assert reenact("cat", f"{run.id}:1.response", "--headers").out == "content-type: application/json\n"
    curl = reenact("cat", f"{run.id}:1", "--curl").out
    assert "credential" not in curl and '"$AUTHORIZATION"' in curl and "'{\"q\": 1}'" in curl
    assert reenact("cat", f"{run.id}:0", "--curl").code == 2


def test_pasted_requests_are_programs(filled: Any, reenact: Cli) -> None:
    run = next(r for r in filled.runs() if r.agent == "order-lookup")
    compile(reenact("cat", f"{run.id}:1", "--python").out, "<pasted>", "exec")
    shell = reenact("cat", f"{run.id}:1", "--curl").out.replace("curl ", "printf '%s\\n' ", 1)
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True, env={"AUTHORIZATION": "me"})
    assert done.stdout.splitlines()[:5] == [
        "--globoff",
        "-X",
        "POST",
        "--url",
        "https://api.openai.test/v1/chat/completions?a=1",
    ]
    assert "Authorization: me" in done.stdout and "X-Odd: it's" in done.stdout


def test_flag_and_tag_amend_the_run(filled: Any, reenact: Cli) -> None:
    assert reenact("flag", "@", "wrong order").code == 0
    assert reenact("tag", "@", "ticket=r_8821", "n=1", 'q="a b"').code == 0
    run = filled.run("@")
    assert (run.flagged, run.flag) == (True, "wrong order")
    assert run.tags == {"ticket": "r_8821", "n": "1", "q": "a b"}
    assert reenact("ls", "--json", "--where", "flagged").data[0]["flag"] == "wrong order"
    assert reenact("tag", "@", "oops").code == 2


@pytest.mark.parametrize(
    "ref", ["x.reenact", "x.reenact:3", "@golden/refund", "@golden/refund:1", "@:1.a..b", ":1", "a:", "@:9..2"]
)
def test_references_that_cannot_be_followed_are_usage(ref: str, filled: Any, reenact: Cli) -> None:
    for command in ("show", "cat", "flag"):
        answer = reenact(command, ref)
        assert answer.code == 2 and "next: " in answer.err


def test_a_terminal_may_refuse_colour(filled: Any, reenact: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in reenact("ls", color=True).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in reenact("ls", color=True).out
