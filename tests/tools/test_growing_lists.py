"""Lists that a step declares to grow only: looked at from their old end on, proved, and never read as what they were
not."""

from __future__ import annotations

import copy
import json
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reenact
from reenact.abc.store import Recording
from reenact.errors import BlobMissing, UsageError
from reenact.facts import growth
from reenact.privacy.redactor import CredentialRedactor
from reenact.store import open_store
from reenact.store.run_records import records_of
from reenact.store.sqlite_recording import SqliteRecording
from reenact.store.store_check import check_store

GROWS = ("messages",)


def message(number: int) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": f"this is message {number} " * 3}]}


def as_it_is(state: dict[str, Any]) -> Any:
    """What the state is now; a tenth of the cost of a deep copy."""
    return json.loads(json.dumps(state))


def agent(
    steps: int, change: Callable[[int, dict[str, Any]], object] = lambda n, state: None, grows: tuple[str, ...] = GROWS
) -> Iterator[dict[str, Any]]:
    """An agent whose messages grow by two a step; gives its state as it was at each look."""
    state: dict[str, Any] = {"plan": "look", "messages": [], "turn": 0}
    for number in range(steps):
        change(number, state)
        with reenact.step("turn", state, grows=grows) as given_state:
            yield as_it_is(given_state)
            given_state["messages"].append(message(2 * number))
            given_state["messages"].append(message(2 * number + 1))
            given_state["turn"] = number
            yield as_it_is(given_state)


def record(store: Path, *arguments: Any, **named: Any) -> list[dict[str, Any]]:
    with reenact.record(agent="agent", store=str(store)):
        return list(agent(*arguments, **named))


def states(recording: Recording) -> Iterator[dict[str, Any] | None]:
    """What each look reads as now; None where that is not proven."""
    for event in recording.events(kinds=["step"]):
        for phase in ("in", "out"):
            try:
                slots = recording.checkpoint_slots(event.number, phase)
            except BlobMissing as missing:
                assert missing.reason == "unproven"
                yield None
                continue
            yield None if slots is None else {name: json.loads(body) for name, body in slots.items()}


def opened(store: Path, ref: str = "@") -> Recording:
    kept = open_store(str(store))
    return kept.open(kept.run(ref))


def digests(recording: Recording) -> list[dict[str, str]]:
    return [dict(each.slots) for each in recording.snapshots()]


def test_a_list_that_grows_reads_back_as_it_was(tmp_path: Path) -> None:
    seen = record(tmp_path / "s.db", 60)
    recording = opened(tmp_path / "s.db")
    assert list(states(recording)) == seen
    assert not list(recording.gaps())
    assert not recording.run.degraded


def test_a_version_has_the_digest_that_it_has_without_a_declaration(tmp_path: Path) -> None:
    record(tmp_path / "s.db", 60)
    record(tmp_path / "s.db", 60, grows=())
    assert digests(opened(tmp_path / "s.db", "@")) == digests(opened(tmp_path / "s.db", "@~1"))


@pytest.mark.usefixtures("nothing_is_removed")
def test_what_is_kept_grows_with_what_is_new(tmp_path: Path) -> None:
    """A version takes a row of some bytes, whatever its length, and the text of a list is kept once."""
    record(tmp_path / "s.db", 400)
    with sqlite3.connect(tmp_path / "s.db" / "store.db") as connection:
        longest, count = connection.execute(
            "SELECT max(length(data)), count(*) FROM payload WHERE codec = 2 AND size > 20000"
        ).fetchone()
        (texts,) = connection.execute("SELECT count(DISTINCT id >> 32) FROM frame").fetchone()
    assert count > 200
    assert longest < 24
    assert texts <= 4  # this list's, that of all else; and where something was removed meanwhile, the list begun anew


def test_the_store_is_sound_and_a_run_goes_without_a_trace(tmp_path: Path) -> None:
    record(tmp_path / "s.db", 60)
    store = open_store(str(tmp_path / "s.db"))
    assert not list(check_store(tmp_path / "s.db" / "store.db").breaks)
    store.delete(store.run("@"))
    store.close()
    assert b"this is message" not in (tmp_path / "s.db" / "store.db").read_bytes()


@pytest.mark.parametrize("declared", [GROWS, ()])
@pytest.mark.parametrize("declares_now", [GROWS, ()])
def test_a_replay_is_exact_whatever_is_declared_now(
    tmp_path: Path, declared: tuple[str, ...], declares_now: tuple[str, ...]
) -> None:
    record(tmp_path / "s.db", 40, grows=declared)
    replayed = reenact.replay("@", entry=lambda: list(agent(40, grows=declares_now)), store=str(tmp_path / "s.db"))
    assert replayed.verdict == "exact"


def test_a_replay_finds_an_entry_that_is_another_one(tmp_path: Path) -> None:
    record(tmp_path / "s.db", 40)

    def change(number: int, state: dict[str, Any]) -> None:
        if number == 30:
            state["messages"][3]["role"] = "tool"

    with pytest.raises(reenact.Divergence, match=r"3\.role"):
        reenact.replay("@", entry=lambda: list(agent(40, change)), store=str(tmp_path / "s.db"))


WRONG: dict[str, Callable[[list[Any]], object]] = {
    "an entry changes": lambda messages: messages[5].update(role="changed"),
    "the last changes": lambda messages: messages[-1]["content"].append("more"),
    "one goes": lambda messages: messages.pop(),
    "the first goes": lambda messages: messages.pop(0),
    "one comes first": lambda messages: messages.insert(0, {"role": "system"}),
    "they change places": lambda messages: messages.reverse(),
    "all go": lambda messages: messages.clear(),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_declaration_is_said_once_and_no_wrong_state_reads_as_proven(tmp_path: Path, how: str) -> None:
    def change(number: int, state: dict[str, Any]) -> None:
        if number in (25, 28):
            WRONG[how](state["messages"])

    seen = record(tmp_path / "s.db", 60, change)
    recording = opened(tmp_path / "s.db")
    read = list(states(recording))
    assert all(now is None or now == then for now, then in zip(read, seen, strict=True))
    assert read[:32] == seen[:32], "what was proven before stays proven"
    assert read[-1] == seen[-1], "lists are recorded whole from there on"
    (gap,) = recording.gaps()
    assert "messages[" in gap[0] and "declared to grow only" in gap[0]
    assert "step turn" in gap[0] and "step turn" in gap[1]
    assert gap[2] == 1
    assert not recording.run.degraded


def test_the_gap_names_the_entry_and_the_steps_around_its_change(tmp_path: Path) -> None:
    def change(number: int, state: dict[str, Any]) -> None:
        if number == 25:
            state["messages"][49]["role"] = "changed"  # the last that is there

    record(tmp_path / "s.db", 60, change)
    ((what, place, _),) = opened(tmp_path / "s.db").gaps()
    assert what.startswith("messages[49] changed after the end of step turn (25 of root)")
    assert place == "the start of step turn (26 of root)"


def test_a_list_that_is_set_anew_begins_anew(tmp_path: Path) -> None:
    """Another task, with another state: nothing is wrong, and both lists are kept."""
    with reenact.record(agent="agent", store=str(tmp_path / "s.db")):
        seen = [*agent(30), *agent(30), *agent(3)]
    recording = opened(tmp_path / "s.db")
    assert list(states(recording)) == seen
    assert not list(recording.gaps())


@pytest.fixture
def nothing_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was loaded by tests before holds credentials: where they are removed, lists begin anew."""
    monkeypatch.setattr(CredentialRedactor, "mark", b"")


@pytest.mark.usefixtures("nothing_is_removed")
@pytest.mark.parametrize("copied", [list, copy.deepcopy, lambda held: [*held], lambda held: [*held, {"role": "new"}]])
def test_a_list_goes_on_in_a_copy(tmp_path: Path, copied: Callable[[list[Any]], list[Any]]) -> None:
    def change(number: int, state: dict[str, Any]) -> None:
        state["messages"] = copied(state["messages"])

    seen = record(tmp_path / "s.db", 40, change)
    recording = opened(tmp_path / "s.db")
    assert list(states(recording)) == seen
    assert not list(recording.gaps())
    assert len([name for name in recording.notes(None) if name.startswith(growth.NOTE)]) == 1


def test_a_secret_in_a_new_entry_is_removed(tmp_path: Path) -> None:
    secret = "sk-proj-" + "Ab3dE6gH9jK2mN5pQ8sT" * 2

    def change(number: int, state: dict[str, Any]) -> None:
        if number == 20:
            state["messages"].append({"role": "user", "api_key": secret})
        if number == 22:
            state["messages"].append({"role": "user", "content": f"again {secret}"})

    record(tmp_path / "s.db", 40, change)
    read = list(states(opened(tmp_path / "s.db")))
    assert None not in read
    assert secret not in json.dumps(read)
    assert "~rx" in json.dumps(read)


def test_a_secret_that_is_known_late_is_removed_from_there_on(tmp_path: Path) -> None:
    """What stood in an early entry before anything told it to be a secret is gone from the states behind that."""
    word = "".join(("hunter2", "hunter2XY9"))  # said to be a secret nowhere else

    def change(number: int, state: dict[str, Any]) -> None:
        if number == 12:
            state["messages"].append({"role": "user", "content": f"I say {word} to you"})
        if number == 25:
            state["messages"].append({"password": word})

    with reenact.record(agent="agent", store=str(tmp_path / "s.db")) as run:
        for _ in agent(40, change):
            run.flush()
    read = list(states(opened(tmp_path / "s.db")))
    assert None not in read
    assert word in json.dumps(read[48])
    assert word not in json.dumps(read[53:])


PROGRAM = """
import os, signal, sys, reenact
state = {"messages": []}
with reenact.record(agent="agent", store=sys.argv[1]) as run:
    for number in range(60):
        with reenact.step("turn", state, grows=("messages",)):
            state["messages"].append({"role": "user", "text": "message %d" % number})
    run.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_that_is_killed_before_its_proof_reads_as_not_proven(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(store)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    read = list(states(opened(store)))
    known = [state for state in read if state is not None]
    assert len(read) == 120
    assert [len(state["messages"]) for state in known] == [(n + 1) // 2 for n in range(len(known))]
    assert 32 <= len(known[-1]["messages"]) <= 33, "up to the last doubling"
    assert read[len(known) :] == [None] * (120 - len(known))


def test_no_question_is_answered_by_a_state_that_is_not_proven(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    subprocess.run([sys.executable, "-c", PROGRAM, str(store)], timeout=60, check=False)

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "reenact", *words, "--store", str(store)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    for words in (
        ("show", "@:59", "--json"),
        ("timeline", "@", "--changed", "59"),
    ):
        answer = ask(*words)
        assert "not proven" in answer.stdout + answer.stderr, words
    for words in (
        ("fork", "@:59", "--set", "messages=[]"),
        ("timeline", "@", "--last-set", "messages"),
    ):
        answer = ask(*words)
        assert answer.returncode != 0 and "not proven" in answer.stderr, (words, answer.stdout, answer.stderr)
    shown = ask("show", "@", "--state")
    assert shown.returncode == 0 and "not proven" in shown.stdout, shown.stderr
    left_out = ask("ls", "--where", 'len(state["messages"]) >= 0')
    assert left_out.returncode == 0 and "is left out" in left_out.stderr, left_out.stderr


def test_two_runs_are_not_found_equal_by_states_that_are_not_proven(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", PROGRAM, str(store)], timeout=60, check=False)
    comparison = reenact.compare("@~1", "@", store=str(store))
    assert comparison.first_difference is not None


def test_two_runs_are_compared_by_what_is_in_their_lists(tmp_path: Path) -> None:
    def change(number: int, state: dict[str, Any]) -> None:
        if number == 30:
            state["messages"][-1] = {"role": "another"}
            state["messages"] = copy.deepcopy(state["messages"])

    store = tmp_path / "s.db"
    record(store, 40)
    record(store, 40)
    assert reenact.compare("@~1", "@", store=str(store)).first_difference is None
    record(store, 40, change)
    assert reenact.compare("@~1", "@", store=str(store)).first_difference is not None


def test_a_name_that_is_no_sequence_is_refused() -> None:
    with pytest.raises(UsageError, match="takes the names of lists"):
        reenact.step("plan", {}, grows="messages")


def test_a_run_in_memory_reads_as_one_in_a_file() -> None:
    store = open_store("memory:")

    def change(number: int, state: dict[str, Any]) -> None:
        if number == 25:
            state["messages"][3].update(role="changed")

    for how, proven in ((lambda number, state: None, True), (change, False)):
        with reenact.record(agent="agent", store=store) as run:
            seen = list(agent(30, how))
        read = list(states(store.open(store.run(run.id))))
        assert all(now is None or now == then for now, then in zip(read, seen, strict=True))
        assert (None not in read) is proven


def test_a_run_within_another_is_proven_with_it(tmp_path: Path) -> None:
    with reenact.record(agent="outer", store=str(tmp_path / "s.db")), reenact.record(agent="inner") as inner:
        seen = list(agent(30))
    kept = open_store(str(tmp_path / "s.db"))
    assert list(states(kept.open(kept.run(inner.id)))) == seen


def test_what_is_not_proven_is_not_in_a_copy_either(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    subprocess.run([sys.executable, "-c", PROGRAM, str(store)], timeout=60, check=False)
    kept = open_store(str(store))
    recording = kept.open(kept.run("@"))
    copied = open_store(str(tmp_path / "copy.db"))
    copied.adopt([(recording.run, records_of(recording, ()))])
    assert list(states(opened(tmp_path / "copy.db"))) == list(states(recording))


def test_a_fork_begins_a_list_anew_that_it_sets_and_replays(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    record(tmp_path / "s.db", 40)
    change = reenact.Change(state={"messages": [{"role": "other"}]})
    forked = reenact.fork("@", 30, change=change, entry=lambda: list(agent(40)), store=store)
    read = list(states(opened(tmp_path / "s.db", forked.id)))
    assert None not in read
    assert [len(state["messages"]) for state in read[58:64] if state] == [58, 60, 1, 3, 3, 5]
    assert reenact.replay(forked.id, entry=lambda: list(agent(40)), store=store).verdict == "exact"


# --- replays look in the same way --------------------------------------------------------------------------------


@pytest.fixture
def reads_no_state(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The events whose states were read whole."""
    read: list[int] = []
    whole = SqliteRecording.checkpoint_slots

    def reading(self: SqliteRecording, event: int, phase: str, *, proven: bool = True) -> Any:
        read.append(event)
        return whole(self, event, phase, proven=proven)

    monkeypatch.setattr(SqliteRecording, "checkpoint_slots", reading)
    return read


@pytest.mark.usefixtures("nothing_is_removed")
@pytest.mark.parametrize("again", [reenact.replay, lambda ref, **named: reenact.fork(ref, 55, **named)])
def test_a_replay_and_a_fork_look_at_what_is_new(
    tmp_path: Path, reads_no_state: list[int], monkeypatch: pytest.MonkeyPatch, again: Callable[..., object]
) -> None:
    record(tmp_path / "s.db", 60)
    looked: list[Any] = []
    entry = growth._entry

    def noting(item: Any, name: Any) -> Any:
        looked.append(item)
        return entry(item, name)

    monkeypatch.setattr(growth, "_entry", noting)
    again("@", entry=lambda: list(agent(60)), store=str(tmp_path / "s.db"))
    assert len(set(reads_no_state)) < 12, "below 16 entries, where lists are looked at whole"
    assert len(looked) < 4 * 120, "each once, and the last known one at each look"


def test_a_kept_replay_has_the_states_of_its_run(tmp_path: Path) -> None:
    seen = record(tmp_path / "s.db", 40)
    store = str(tmp_path / "s.db")
    forked = reenact.fork("@", 38, entry=lambda: list(agent(40)), store=store)
    kept = opened(tmp_path / "s.db", forked.id)
    assert list(states(kept)) == seen
    assert digests(kept) == digests(opened(tmp_path / "s.db", "@~1"))
    assert not list(check_store(tmp_path / "s.db" / "store.db").breaks)


def _alter(when: int, at: int) -> Callable[[int, dict[str, Any]], None]:
    def change(number: int, state: dict[str, Any]) -> None:
        if number == when:
            state["messages"][at]["role"] = "tool"

    return change


@pytest.mark.parametrize("when", [20, 33, 39])
def test_a_replay_finds_an_old_entry_that_changed_also_when_no_proof_comes_before_the_end(
    tmp_path: Path, when: int
) -> None:
    record(tmp_path / "s.db", 40)
    with pytest.raises(reenact.Divergence, match=r"3\.role"):
        reenact.replay("@", entry=lambda: list(agent(40, _alter(when, 3))), store=str(tmp_path / "s.db"))


def test_a_replay_of_a_wrong_declaration_comes_to_the_same_and_says_what_is_not_proven(tmp_path: Path) -> None:
    record(tmp_path / "s.db", 40, _alter(34, 3))
    replayed = reenact.replay("@", entry=lambda: list(agent(40, _alter(34, 3))), store=str(tmp_path / "s.db"))
    assert replayed.verdict == "same"
    assert "not proven" in replayed.report.last_line


def test_a_list_with_what_was_removed_replays(tmp_path: Path) -> None:
    secret = "sk-proj-" + "Ab3dE6gH9jK2mN5pQ8sT" * 2

    def change(number: int, state: dict[str, Any]) -> None:
        if number == 20:
            state["messages"].append({"role": "user", "api_key": secret})

    record(tmp_path / "s.db", 40, change)
    assert reenact.replay("@", entry=lambda: list(agent(40, change)), store=str(tmp_path / "s.db")).verdict == "exact"


# --- any change at any time ---------------------------------------------------------------------------------------

_fresh = iter(range(10**9))

CHANGES: dict[str, Callable[[dict[str, Any], int], object]] = {
    "append": lambda state, at: state["messages"].append(message(next(_fresh))),
    "extend": lambda state, at: state["messages"].extend(message(next(_fresh)) for _ in range(at % 40)),
    "add": lambda state, at: state.update(messages=[*state["messages"], message(next(_fresh))]),
    "copy": lambda state, at: state.update(messages=copy.deepcopy(state["messages"])),
    "other": lambda state, at: state.update(plan=f"plan {next(_fresh)}"),
    "nothing": lambda state, at: None,
}
TRUE = tuple(CHANGES)


def _entry(state: dict[str, Any], at: int) -> Any:
    return state["messages"][at % len(state["messages"])] if state["messages"] else {}


CHANGES |= {
    "deep": lambda state, at: _entry(state, at).update(content=[{"text": next(_fresh)}]),
    "insert": lambda state, at: state["messages"].insert(at % 50, message(next(_fresh))),
    "pop": lambda state, at: state["messages"].pop(at % len(state["messages"])) if state["messages"] else None,
    "cut": lambda state, at: state.update(messages=state["messages"][-at % 30 :]),
    "sorted": lambda state, at: state["messages"].sort(key=str),
    "twice": lambda state, at: state["messages"].append(_entry(state, at)),
    "gone": lambda state, at: state.pop("messages"),
    "text": lambda state, at: state.update(messages="none"),
}


def changed(
    state: dict[str, Any], changes: list[tuple[str, int]], looks: list[dict[str, Any]], grows: tuple[str, ...]
) -> None:
    for name, at in changes:
        with reenact.step("turn", state, grows=grows):
            looks.append(as_it_is(state))
            if isinstance(state.get("messages"), list):
                CHANGES[name](state, at)
            else:
                state["messages"] = [message(next(_fresh))]
            looks.append(as_it_is(state))


def _read(changes: list[tuple[str, int]]) -> tuple[list[Any], list[Any], Recording]:
    looks: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "s.db"
        state: dict[str, Any] = {"plan": "", "messages": [message(next(_fresh)) for _ in range(20)]}
        with reenact.record(agent="agent", store=str(store)):
            changed(state, changes, looks, GROWS)
        recording = opened(store)
        return looks, list(states(recording)), recording


_AT = st.integers(0, 200)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(tuple(CHANGES)), _AT), min_size=1, max_size=30))
def test_no_wrong_state_reads_as_proven(changes: list[tuple[str, int]]) -> None:
    looks, read, _ = _read(changes)
    assert len(read) == len(looks)
    for then, now in zip(looks, read, strict=True):
        assert now is None or now == then


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TRUE), _AT), min_size=1, max_size=30))
def test_every_state_of_a_true_declaration_is_proven(changes: list[tuple[str, int]]) -> None:
    looks, read, recording = _read(changes)
    assert read == looks
    assert not list(recording.gaps())


@settings(deadline=None, max_examples=settings().max_examples * 3 // 10)
@given(st.lists(st.tuples(st.sampled_from(TRUE), _AT), min_size=1, max_size=20), st.data())
def test_a_replay_is_exact_and_no_entry_can_be_another_one(changes: list[tuple[str, int]], data: st.DataObject) -> None:
    """The same changes again are exact. With one entry that is another one, whenever that is, they never are."""

    def entry(other: tuple[int, int] | None) -> None:
        state: dict[str, Any] = {"plan": "", "messages": [_numbered(n) for n in range(20)]}
        for step, (name, at) in enumerate(changes):
            if other is not None and other[0] == step:
                state["messages"][other[1] % len(state["messages"])]["role"] = "another"
            with reenact.step("turn", state, grows=GROWS):
                _numbered_changes(state, name, at)

    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "s.db")
        with reenact.record(agent="agent", store=store):
            entry(None)
        assert reenact.replay("@", entry=lambda: entry(None), store=store).verdict == "exact"
        other = data.draw(st.tuples(st.integers(0, len(changes) - 1), _AT))
        with pytest.raises(reenact.Divergence):
            reenact.replay("@", entry=lambda: entry(other), store=store)


def _numbered(number: int) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": f"this is message {number}"}]}


def _numbered_changes(state: dict[str, Any], name: str, at: int) -> None:
    count = len(state["messages"])
    if name == "append":
        state["messages"].append(_numbered(count))
    elif name == "extend":
        state["messages"].extend(_numbered(count + n) for n in range(at % 40))
    elif name == "add":
        state["messages"] = [*state["messages"], _numbered(count)]
    elif name == "copy":
        state["messages"] = copy.deepcopy(state["messages"])
    elif name == "other":
        state["plan"] = f"plan {at}"
