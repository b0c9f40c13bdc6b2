"""What a fork changes reaches the agent's code: a result, an error, the state of a step; and stays with the fork."""

from __future__ import annotations

import json
import textwrap

import pytest

import reenact
from reenact.errors import EventNotFound
from tests.forks.conftest import Forks
from tests.programs import read_program

TRIAGE = read_program("forks/triage_of_a_ticket.py")


def test_a_result(forks: Forks) -> None:
    forks.record(TRIAGE)
    report = forks.fork("look#1", "--result", 'look#1={"found": 7}', "--live", "none")
    assert report["printed"] == "found {'found': 7}\nnobody 1\nmailing to nobody\nmailed\n"
    forks.replays_exactly(report["run"])
    assert json.loads(forks.desk.run("cat", f"{report['run']}:look#1.result").stdout) == {"found": 7}


def test_an_error(forks: Forks) -> None:
    forks.record(TRIAGE)
    report = forks.fork(0, "--error", "look#2=TimeoutError:index down", "--live", "none")
    assert report["printed"] == "no answer: index down\nnobody 1\nmailing to nobody\nmailed\n"
    forks.replays_exactly(report["run"])


IMPORTED = """
    import json, queue, reenact, requests
    @reenact.tool(effect="read")
    def fetch(page): return page
    for page in (1, 2):
        try:
            print(fetch(page))
        except (requests.ConnectionError, requests.HTTPError, queue.Empty, json.JSONDecodeError) as error:
            print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    "name", ["requests.ConnectionError", "requests.HTTPError", "queue.Empty", "json.JSONDecodeError"]
)
def test_an_error_by_the_name_that_the_code_writes(forks: Forks, name: str) -> None:
    forks.record(IMPORTED)
    report = forks.fork("fetch#2", "--error", f"fetch#2={name}:down", "--live", "none")
    assert report["printed"] == f"1\n{name.rpartition('.')[2]} down\n"
    forks.replays_exactly(report["run"])


@pytest.mark.parametrize(
    ("name", "says"),
    [("wave.Error", "the program has not imported wave"), ("json.JSONDecoder", "json has no such exception")],
)
def test_an_error_that_the_program_does_not_have(forks: Forks, name: str, says: str) -> None:
    forks.record(IMPORTED)
    report = forks.fork("fetch#2", "--error", f"fetch#2={name}:down", "--live", "none", status=2)
    assert f"{name} cannot be raised: {says}" in report["message"]
    assert report["printed"] == "1\n", "no except of the agent is entered"


def test_the_state_of_a_step_in_place(forks: Forks) -> None:
    forks.record(TRIAGE)
    report = forks.fork("plan#1", "--set", "limits.tries=1", "--live", "none")
    assert report["frozen"] == 2
    forks.replays_exactly(report["run"])
    assert [event.name for event in forks.events(report["run"])] == ["plan", "look", "assign", "mail"]
    with reenact.open_store(str(forks.desk.folder / ".reenact")) as store:
        assert store.open(report["run"]).checkpoint_slots(0, "in") == {"query": b'"refund"', "limits": b'{"tries":1}'}


def test_an_immutable_state_is_handed_over(forks: Forks) -> None:
    forks.record(TRIAGE)
    report = forks.fork("assign#1", "--set", "owner=ann", status=5)
    assert report["printed"] == "ann 1\n"
    assert "mail may change the world, and is not allowed to" in report["message"]
    allowed = forks.fork("assign#1", "--set", "owner=ann", "--allow-write", "mail")
    assert allowed["printed"] == "ann 1\nmailing to ann\nmailed\n"
    assert [answer["how"] for answer in allowed["answers"]] == ["live"]
    forks.replays_exactly(allowed["run"])


def test_an_immutable_state_that_nobody_takes(forks: Forks) -> None:
    forks.record(TRIAGE.replace('Ticket("nobody")) as ticket:', 'ticket := Ticket("nobody")):'))
    report = forks.fork("assign#1", "--set", "owner=ann", status=2)
    assert "with step(name, state) as state" in report["message"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("look#1", "--set", "query=x"), "is no step with a state"),
        (("plan#1", "--set", "limits.retries=1"), "at that place it has tries"),
        (("plan#1", "--set", "limits.tries.deep=1"), "there is no deep in it"),
        (("plan#1", "--result", "plan#1=1"), "is the agent's own code"),
        (("plan#1", "--error", "look#1=not a type: x"), "names no exception"),
        (("plan#1", "--error", "look#1=TimeotError:x"), "no exception of Python's own; did you mean TimeoutError?"),
        (("plan#1", "--error", "look#1=print:x"), "print is no exception of Python's own"),
        (("plan#1", "--error", "look#1=no_such_package.Error:x"), "there is no module no_such_package"),
        (
            ("plan#1", "--error", "look#1=json.NoSuchError:x"),
            "json.NoSuchError cannot be raised: json has no NoSuchError",
        ),
        (("plan#1", "--error", "look#1=xml.dom.NoSuchError:x"), "xml.dom has no NoSuchError"),
        (("plan#1", "--error", "look#1=__main__.NoSuchOrder:x"), "agent.py has no NoSuchOrder"),
        (("plan#1", "--result", "look#1"), "is not of the form"),
        (("plan#1", "--result", 'look#1={"docs": ['), "is no JSON: Expecting value: line 1 column 11 (char 10)"),
        (("plan#1", "--result", 'look#1="sic'), "is no JSON: Unterminated string"),
        (("plan#1", "--set", "query=[sic]"), "put a text that begins like this in quotes"),
        (("look#2", "--result", "look#1=1"), "event 1 (look) comes before event 2, where the fork branches"),
        (("plan#1", "--result", "look#1=@nowhere.json"), "cannot be read"),
        (("plan#1", "--live", "none", "--model", "gpt-5.4"), "nothing may go live"),
        (("plan#1", "--rev", "main"), "lies in no git repository"),
    ],
)
def test_what_cannot_be_changed_is_said(forks: Forks, options: tuple[str, ...], says: str) -> None:
    forks.record(TRIAGE)
    assert says in forks.fork(*options, status=2)["said"]
    assert len(forks.runs()) == 1


def test_a_call_without_a_recorded_answer_stops_the_fork_and_is_named(forks: Forks) -> None:
    forks.record(TRIAGE)
    report = forks.fork("plan#1", "--set", "query=warranty", "--live", "none", status=5)
    assert "look has no recorded answer, and nothing may go live" in report["message"]
    assert "differs from event 1" in report["message"]
    assert report["message"].splitlines()[-1].strip() == (
        f"next: reenact fork {forks.parent[-8:]}:0 --set 'query=\"warranty\"' --dry-run"
    ), "the fork that may ask, and its plan first: there is a write behind"


def test_reads_go_live_and_writes_do_not(forks: Forks) -> None:
    forks.record(TRIAGE)
    report = forks.fork("plan#1", "--set", "query=warranty")
    assert [(answer["name"], answer["how"]) for answer in report["answers"]] == [
        ("look", "live"),
        ("look", "live"),
        ("mail", "frozen"),
    ]
    forks.replays_exactly(report["run"])


def test_the_plan_is_printed_and_nothing_is_made(forks: Forks) -> None:
    forks.record(TRIAGE)
    told = forks.desk.run("fork", f"{forks.parent}:look#1", "--live", "all", "--dry-run").stdout
    assert "sent live again look (2 times" in told
    assert "blocked write   mail (1 recorded)" in told
    assert len(forks.runs()) == 1


def test_code_gets_the_plan_as_a_value() -> None:
    @reenact.tool(effect="read")
    def look(what: str) -> str:
        return what

    @reenact.tool
    def mail(text: str) -> None: ...

    @reenact.record(store="memory:planned")
    def agent() -> None:
        look("a")
        mail(look("b"))

    agent()
    with reenact.open_store("memory:planned") as store:
        run = store.run("@")
        for entry in (agent, "agents:main"):
            plan = reenact.fork(run, "look#2", live="all", entry=entry, store=store, dry_run=True)
            assert (plan.frozen, plan.again, plan.writes) == (1, {"look": 1}, {"mail": 1})
            assert "blocked write   mail (1 recorded)" in "\n".join(plan.lines())
        assert [each.id for each in store.runs()] == [run.id], "nothing is made"
        with pytest.raises(EventNotFound, match="no event 9"):
            reenact.fork(run, 9, store=store, dry_run=True)


SHAPES = """
    import sqlite3, subprocess
    print("named", input(), input())
    db = sqlite3.connect("shop.db")
    print("rows", db.execute("select 3 as a").fetchall())
    print("ran", subprocess.run(["echo", "hi"], capture_output=True, text=True).stdout)
"""


def test_a_result_of_our_own_seams_keeps_their_shape(forks: Forks) -> None:
    forks.typed = "Zoe\nBo\n"
    forks.record(SHAPES)
    query = next(event for event in forks.events() if event.name.startswith("SELECT"))
    ran = next(event for event in forks.events() if event.name.endswith("communicate"))
    held = json.loads(forks.desk.run("cat", f"@:{query.number}.result").stdout)
    changes = {"input#1": "Málaga", query.number: {**held, "rows": [[44]]}, ran.number: ["ho", "", 0]}
    words = [word for at, value in changes.items() for word in ("--result", f"{at}={json.dumps(value)}")]
    report = forks.fork(0, *words, "--live", "none")
    assert report["printed"].split() == ["named", "Málaga", "Bo", "rows", "[(44,)]", "ran", "ho"]
    forks.replays_exactly(report["run"])
    for change in ('input#2={"a": 1}', f'{query.number}="text"', f"{ran.number}=[]"):
        assert (
            "copy the recorded one" in (said := forks.fork(0, "--result", change, status=2)["said"])
            or "one line" in said
        )


TYPED = """
    import decimal, reenact
    @reenact.tool(effect="read")
    def look(): return (decimal.Decimal("1.50"), [("a", 1)], {1, 2})
    print(look())
"""


def test_a_result_takes_over_types_that_json_does_not_have(forks: Forks) -> None:
    forks.record(TYPED)
    given = 'look#1=["2.25", [["b", 2], ["c", 3]], [3]]'
    report = forks.fork(0, "--result", given, "--live", "none")
    assert report["printed"] == "(Decimal('2.25'), [('b', 2), ('c', 3)], {3})\n"
    forks.replays_exactly(report["run"])


def test_a_change_of_what_the_code_asks_no_more_is_said(forks: Forks) -> None:
    forks.record(TRIAGE)
    agent = forks.desk.folder / "agent.py"
    agent.write_text(agent.read_text().replace('"query": "refund"', '"query": "refunds"'))
    report = forks.fork("plan#1", "--result", 'look#2={"found": 7}', status=1)
    assert "event 2 (look) was not requested again as recorded: its change had no effect" in report["message"]
    assert any("the code has changed since the recording (agent.py)" in each for each in report["remarks"])


EDITED = """
    import reenact
    @reenact.tool(effect="read")
    def look(n): return n
    print("edited", look(1), look(2))
"""


def test_the_plan_and_the_report_of_a_fork_name_code_that_has_changed(forks: Forks) -> None:
    forks.record(EDITED.replace('"edited", ', ""))
    change = ("--result", "look#2=7")

    def said() -> list[bool]:
        planned = forks.desk.run("fork", f"{forks.parent}:0", *change, "--dry-run").stdout
        report = forks.fork(0, *change, "--live", "none")
        with reenact.open_store(str(forks.desk.folder / ".reenact")) as store:
            plan = reenact.fork(forks.parent, 0, store=store, dry_run=True)
        line = "the code has changed since the recording (agent.py)"
        return [line in planned, line in report["remarks"], line in "\n".join(plan.remarks)]

    assert said() == [False] * 3
    (forks.desk.folder / "agent.py").write_text(textwrap.dedent(EDITED))
    assert said() == [True] * 3
