"""The command that asks for a fork once more says all that was changed and allowed in it, and keeps no secret there."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import FormatTooNew
from reenact.facts.fork_stop import FIELD
from reenact.facts.run import Run
from reenact.interfaces.cli.commands.fork import change_of, command, results_of
from reenact.store.memory_store import MemoryStore
from reenact.timetravel.forking import plan_of
from reenact.timetravel.forks.fork_command import again, allowing
from reenact.timetravel.forks.plan import Plan
from tests.forks.conftest import Forks

NAMES = st.text("abcdef_", min_size=1, max_size=8)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
VALUES = st.none() | st.booleans() | st.integers(-9, 9) | WORDS | st.lists(WORDS, max_size=2)
PLANS = st.builds(
    Plan,
    at=st.integers(0, 99),
    live=st.sampled_from(["reads", "all", "model"]),
    allow_writes=st.lists(WORDS, max_size=2).map(tuple),
    results=st.dictionaries(st.integers(0, 9), VALUES, max_size=2),
    errors=st.dictionaries(st.integers(10, 19), WORDS, max_size=1),
    says=st.dictionaries(st.integers(20, 29), WORDS, max_size=1),
    state=st.dictionaries(NAMES, VALUES, max_size=2),
    prompt=st.none() | WORDS.filter(lambda text: not text.startswith("@")),
    model=st.none() | NAMES,
    params=st.dictionaries(NAMES, VALUES, max_size=1),
    input=VALUES,
    flags=st.dictionaries(NAMES, VALUES, max_size=1),
    at_time=st.sampled_from(["", "2027-03-28"]),
    rev=st.just("") | NAMES,
    settle=st.sampled_from(["", "retry"]),
)
RUN = Run("01" + "0" * 8 + "aaaabbbb", started_us=0)


def typed_again(command_line: str) -> Plan:
    """The plan of a command as a shell and the command line read it."""
    reenact, fork, *words = shlex.split(command_line)
    assert (reenact, fork) == ("reenact", "fork")
    how: dict[str, Any] = command.make_context("fork", words).params
    ref = how.pop("ref")
    results, _ = results_of(None, how["result"], int)
    at, store = int(ref.partition(":")[2]), MemoryStore("again")  # numbers name the events: nothing is looked up
    plan = plan_of(store, RUN, at, change_of(how, results), live=how["live"], allow_writes=how["allow_write"])
    return replace(plan, settle=how["settle"] or "")


@given(PLANS)
def test_what_is_typed_asks_for_the_same(plan: Plan) -> None:
    line = again(RUN, plan)
    asks = typed_again(line)
    assert asks == plan or (len(line) < 600 and not asks.changes), line


def test_it_asks_for_no_less_where_it_is_short() -> None:
    plan = Plan(2, "none", ("send_*",), results={2: {"say": "it's 5", "uses": []}}, settle="retry")
    assert typed_again(again(RUN, plan)) == plan


def test_a_credential_is_not_printed() -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    assert key not in again(RUN, Plan(2, results={2: key}, allow_writes=("pay",)))


def test_a_long_change_is_left_out() -> None:
    assert again(RUN, Plan(2, "all", says={2: "x" * 2000})) == "reenact fork aaaabbbb:2 --live all"


CHANGES_ITS_OWN = """
    import reenact
    seen = []
    @reenact.tool(effect="read")
    def look(query): return 3
    @reenact.tool(effect="read")
    def gather(query):
        seen.append(query)
        return len(seen)
    @reenact.tool
    def pay(amount): return {"paid": amount}
    first = look("price")
    gather("a")
    if first > 3:
        seen.append("changed")
    print(gather("b"), pay(first))
"""


def test_a_fork_that_cannot_go_on_proposes_one_that_does(forks: Forks) -> None:
    """A write follows that the change reaches: the plan is shown first, and says how it is allowed."""
    forks.record(CHANGES_ITS_OWN)
    stopped = forks.fork("look#1", "--result", "0=5", "--live", "none", status=1)
    _, _, line = stopped["message"].rpartition("next: ")
    assert line.endswith("--result 0=5 --live all --dry-run"), stopped["message"]
    told = forks.desk.run(*shlex.split(line)[1:]).stdout
    assert "pay (1 recorded); a changed one is refused without --allow-write pay" in told
    words = [word for word in shlex.split(line)[1:] if word != "--dry-run"]
    assert forks.desk.run(*words, "--allow-write", "pay").stdout == "3 {'paid': 5}\n"


LOOKS = """
    import reenact
    @reenact.tool(effect="read")
    def look(query): return 3
    @reenact.tool
    def pay(amount): return {"paid": amount}
    print(pay(look(str(look("price")))))
"""


def test_a_refusal_of_a_fork_that_asks_nothing_names_what_lets_it_ask(forks: Forks) -> None:
    forks.record(LOOKS)
    said = forks.fork("look#1", "--result", "0=5", "--live", "none", status=5)["message"]
    assert "--live reads lets it be asked" in said
    said = forks.fork("look#2", "--result", "1=5", "--live", "none", status=5)["message"]
    assert "--allow-write pay lets it be made, and --live reads lets what follows it be asked" in said
    _, _, line = said.rpartition("next: ")
    assert line.endswith("--result 1=5 --live none --allow-write pay")
    told = forks.desk.run(*shlex.split(line)[1:], "--dry-run").stdout
    assert "allowed write   pay (1 recorded); a changed one is made" in told and "blocked" not in told
    assert "if asked again  1 call after it: the same call is answered as recorded" in told, "the other one is changed"
    assert forks.desk.run(*shlex.split(line)[1:]).stdout == "{'paid': 5}\n"


@given(PLANS)
def test_a_plan_comes_back_from_its_data(plan: Plan) -> None:
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_a_plan_is_read_that_an_earlier_version_stored() -> None:
    """It named the calls that are made again by another word."""
    now = Plan(3, retries=(1, 2), resume=True).to_json()
    stored = {"anew" if name == "retries" else name: value for name, value in now.items()}
    assert Plan.from_json(stored) == Plan(3, retries=(1, 2), resume=True)


def test_a_plan_that_a_newer_version_stored_is_refused_as_a_newer_format_is() -> None:
    with pytest.raises(FormatTooNew, match="seasons") as caught:
        Plan.from_json({**Plan(3).to_json(), "seasons": 4})
    assert caught.value.next_command == "pip install --upgrade reenact"


def test_a_fork_of_a_newer_version_can_be_looked_at() -> None:
    stopped = {"fork": {**Plan(3).to_json(), "seasons": 4}, FIELD: {"write": "pay"}}
    store = MemoryStore()
    parent, fork = (Run(f"01J{number:023}", "bot", started_us=number) for number in (1, 2))
    store.begin(parent).close()
    fork = replace(fork, relation="fork", parent=parent.id, environment=stopped)
    assert allowing(store, fork) == ""
    del stopped["fork"]["seasons"]
    assert "--allow-write pay" in allowing(store, fork)
