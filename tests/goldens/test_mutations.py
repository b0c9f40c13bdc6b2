"""Proof that goldens fail: each leaf of each recorded answer of the examples is altered, and whatever changes what the
agent does turns their goldens red; so does every expectation turned round. What survives is known, and why."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.abc.store import Recording
from reenact.seams.boot.fork_server_client import ForkServerClient
from reenact.store import open_store
from reenact.store.bundles import PackedRun, read_bundle, write_bundle
from reenact.testing import ProviderProcess
from reenact.testing.expectations.expectation import expect
from reenact.testing.goldens.golden_execution import QUIET, WARM_SEED, outcome_of, run_golden
from reenact.testing.goldens.golden_launch import GoldenRequest, launch
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.opened_golden import open_golden

from .altering import Alteration, alterations, leaves, other, plain
from .yard import Yard

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAMPLE = 1
"""How many leaves of each example are altered beside the vital one, where nobody asks for all."""


@dataclass(frozen=True)
class Example:
    """A run of an example that is as it should be, and what is expected of it.

    Attributes:
        folder: The example.
        words: Its command.
        variables: What it sees in its environment.
        expect: What is expected.
        vital: The leaf that matters most, by a pattern over its path: it is altered in every sample, and must be red.
        ignored: What its agent does not look at, by patterns over the paths of leaves, and why: they may survive.
    """

    folder: str
    words: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    expect: tuple[str, ...]
    vital: str
    ignored: Mapping[str, tuple[str, ...]]


ENVELOPE = "the envelope of an answer: the agent reads what is in it"
BUDGET = "what an answer took: the agent has no budget, and nothing is expected of it"
FRAME = "what only frames a stream: the SDK passes it over"
UNUSED = "a field that is dropped where the answer is kept, and never asked for"
CORPUS = {
    "refund": Example(
        "refund_loop",
        ("refund_loop/agent.py", "What is your refund policy?"),
        (("REFUND_AGENT_VERSION", "v2_with_empty_check"),),
        ("calls(search_docs) == 1", 'status == "ok"'),
        "*.function.arguments",
        {
            ENVELOPE: ("id", "object", "created", "model", "service_tier", "system_fingerprint", "choices.0.index"),
            BUDGET: ("usage.*",),
            UNUSED: (
                "choices.0.message.refusal",
                "choices.0.message.annotations",
                "choices.0.logprobs",
                "choices.0.finish_reason",
            ),
        },
    ),
    "order": Example(
        "order_lookup",
        ("order_lookup/agent.py", "Where is my order?"),
        (),
        ("models >= 2", 'status == "ok"'),
        "orders.0.order",
        {
            ENVELOPE: ("*.index", "*.message.model", "*.message.id", "*.message.type", "*.message.role"),
            BUDGET: ("*.usage.*",),
            FRAME: ("*.type",),
            UNUSED: ("*.stop_reason", "*.stop_sequence", "*.content_block.input"),
        },
    ),
    "due": Example("due_today", ("due_today/agent.py",), (), ("calls(when_due) == 1",), "", {}),
}


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """A project with the examples in it, a good run of each, and two goldens of that: judged, and the same."""
    made = Yard(tmp_path_factory.mktemp("yard"))
    for name, example in CORPUS.items():
        shutil.copytree(
            EXAMPLES / example.folder,
            made.project / example.folder,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        with (
            ProviderProcess(EXAMPLES / example.folder / "world.py") as world,
            made.seeing(**world.environment(), ORDERS_URL=world.url, TASKS_URL=world.url, **dict(example.variables)),
        ):
            made.record(*example.words)
        made.keep(name, example.expect)
        made.keep(f"{name}-same", ())
    yield made


@pytest.fixture
def here(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process as a command in the project would be."""
    yard.enter(monkeypatch)


@dataclass(frozen=True)
class Seen:
    """What the agent did, and what its goldens say.

    Attributes:
        did: Its calls with what they asked, what it printed, and how it ended.
        red: Which goldens did not pass.
        turned: The expectations whose contrary holds too.
    """

    did: tuple[Any, ...]
    red: tuple[str, ...]
    turned: tuple[str, ...]


class Suite:
    """The two goldens of one example.

    Args:
        yard: Where they lie.
        name: The example.
        fork_server: Starts their processes.
    """

    def __init__(self, yard: Yard, name: str, fork_server: ForkServerClient) -> None:
        self._yard = yard
        self._name = name
        self._fork_server = fork_server
        self.packed = plain(read_bundle(yard.golden_dir.path(name)).main)
        self.expectations = [expect(text) for text in CORPUS[name].expect]

    def seen(self, alteration: Alteration | None) -> Seen:
        """Run both on the run, altered."""
        packed = self.packed if alteration is None else alteration.of(self.packed)
        with self._run(packed) as (status, today):
            red = (self._name,) if status != "passed" else ()
            did = behaviour(today)
            turned = tuple(each.text for each in self.expectations if expect(f"not ({each.text})").judge(today).holds)
        self._write("altered", packed, ())
        same = run_golden(self._yard.golden_dir, "altered", start_it=self._fork_server)
        return Seen(did, red if same.status == "passed" else (*red, f"{self._name}-same"), turned)

    @contextmanager
    def _run(self, packed: PackedRun) -> Iterator[tuple[str, Recording]]:
        golden_dir = self._yard.golden_dir
        self._write("altered", packed, self.expectations)
        opened = open_golden(golden_dir.path("altered"))
        asked = GoldenRequest(str(opened.path), opened.recorded, opened.golden, hash_seed=WARM_SEED)
        into = f"sqlite:///{self._yard.folder / 'today.db'}"
        told = launch(asked, QUIET, into=into, project=str(golden_dir.root), start_it=self._fork_server)
        with open_store(into) as store:
            today = store.open(told.run)
            yield outcome_of(golden_dir, opened, told, today).status, today

    def _write(self, name: str, packed: PackedRun, expectations: Any) -> None:
        golden = Golden(name, expect=tuple(each.to_json() for each in expectations), any_seed=True)
        write_bundle(self._yard.golden_dir.path(name), [packed], golden.to_json())


def behaviour(today: Recording) -> tuple[Any, ...]:
    """What an agent did: what it asked, what it printed, how it ended."""
    asked = [(event.name, event.call.body) for event in today.events() if event.kind != "step"]
    printed = [b"".join(today.printed(stream)) for stream in (1, 2)]
    return asked, printed, today.run.status.value, today.run.exit_status


@pytest.mark.usefixtures("here")
@pytest.mark.timeout(3600)  # with REENACT_SWEEP=1 some hundred runs
@pytest.mark.parametrize("name", sorted(CORPUS))
def test_whatever_changes_what_the_agent_does_turns_a_golden_red(yard: Yard, name: str, sweep: bool) -> None:
    with ForkServerClient(1) as fork_server:
        suite = Suite(yard, name, fork_server)
        untouched = suite.seen(None)
        assert untouched.red == (), "nothing is altered, and nothing is red"
        assert untouched.turned == (), "every expectation turned round is red"
        every = alterations(suite.packed)
        assert every
        vital = [each for each in every if fnmatch(each.path, CORPUS[name].vital)]
        assert vital
        others = [each for each in every if each not in vital]
        chosen = every if sweep else [*vital[:1], *random.Random(1).sample(others, min(SAMPLE, len(others)))]
        missed: list[Alteration] = []
        survivors: list[Alteration] = []
        for alteration in chosen:
            seen = suite.seen(alteration)
            assert seen.red or alteration not in vital, alteration.where
            if not seen.red:
                (missed if seen.did != untouched.did else survivors).append(alteration)
    told = {each.where: reason(name, each) for each in survivors}
    print(f"{name}: {len(chosen)} of {len(every)} leaves altered, {len(told)} survive")
    for where, why in told.items():
        print(f"  {where}: {why}")
    assert [each.where for each in missed] == []
    assert [where for where, why in told.items() if not why] == []


def reason(name: str, alteration: Alteration) -> str:
    """Why an alteration may survive; empty where it may not."""
    known = CORPUS[name].ignored.items()
    return next((why for why, patterns in known if any(fnmatch(alteration.path, each) for each in patterns)), "")


@pytest.mark.usefixtures("here")
def test_an_agent_that_crosses_no_boundary_fails(yard: Yard) -> None:
    agent = yard.project / "due_today" / "agent.py"
    text = agent.read_text()
    try:
        agent.write_text("print('Tasks on Saturday')\n")
        judged = run_golden(yard.golden_dir, "due")
        yard.keep_as("never", "due", ("calls(when_due) <= 3",))
        weak = run_golden(yard.golden_dir, "never")
        same = run_golden(yard.golden_dir, "due-same")
    finally:
        agent.write_text(text)
    assert (judged.status, weak.status, same.status) == ("failed", "failed", "failed")
    assert judged.boundaries == weak.boundaries == same.boundaries == 0
    assert weak.message == "the agent's own code made no call: nothing of it was tested"


@given(
    document=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=12,
    ),
    ascii_only=st.booleans(),
)
def test_each_leaf_is_altered_alone(document: Any, ascii_only: bool) -> None:
    body = json.dumps(document, ensure_ascii=ascii_only).encode()
    found = list(leaves(body))
    assert len(found) == _count(document)
    for _, start, end in found:
        changed = json.loads(body[:start] + other(body[start:end]) + body[end:])
        assert changed != document or repr(changed) != repr(document)


def _count(document: Any) -> int:
    inside = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return sum(map(_count, inside)) or 1
