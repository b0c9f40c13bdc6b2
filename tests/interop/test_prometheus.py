"""The page that Prometheus scrapes: in its text format whatever agents are called, bounded, and sums never shrink."""

from __future__ import annotations

import http.client
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.call import ErrorFact, Failure, Value
from reenact.facts.features import OTHER
from reenact.facts.frequent_names import FingerprintTally, Key
from reenact.facts.record import CallSettled
from reenact.facts.run import Run, Status
from reenact.interfaces.cli.commands.triage import all_seen
from reenact.interop import prometheus
from reenact.interop.prometheus import Page
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import closing, issued, new_run, opening

from .conftest import Tried
from .spans import chat, text
from .test_serve import Served
from .test_traces import agent

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\d+)")
COMMENT = re.compile(rf"# (HELP|TYPE) ({NAME}) (.+)")


def samples(page: bytes) -> dict[tuple[str, str], int]:
    """A page by the grammar of the format: every line is a comment or a sample, names are told before they are used,
    all lines of a metric stand together, and no sample comes twice."""
    lines = page.decode().split("\n")
    assert lines.pop() == "", "the last line ends"
    found: dict[tuple[str, str], int] = {}
    told: dict[str, list[str]] = {}
    for line in lines:
        comment = COMMENT.fullmatch(line)
        if comment:
            told.setdefault(comment[2], []).append(comment[1])
            assert next(reversed(told)) == comment[2]
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample and next(reversed(told)) == sample[1] and told[sample[1]] == ["HELP", "TYPE"], line
        key = sample[1], sample[2] or ""
        assert key not in found
        found[key] = int(sample[3])
    return found


def cold(page: bytes) -> int:
    return sum(count for (name, _), count in samples(page).items() if name == "reenact_cold_cases_total")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "store.db")
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "_REST", 0)


def keep(store: SqliteStore, agent: str, error: str = "", *, opaque: bool = False) -> Run:
    """A run that failed, or whose tool answered with what cannot be stored, or a healthy one."""
    run = new_run(agent=agent, user="u-secret", tenant="t-secret", tags={"k": "tag-secret"})
    head = {"opaque": ["x"]} if opaque else {}
    outcome = Failure(ErrorFact("builtins.KeyError", error)) if error else Value(b"1", head=head)
    end = closing(run, Status.FAILED, error=f"KeyError: {error}") if error else closing(run)
    log = store.begin(run)
    log.write([*opening(run), issued(0, name="tool-secret"), CallSettled(0, 5, outcome), end])
    log.close()
    return run


def test_runs_are_counted_by_agent_and_fingerprint_and_nothing_of_them_is_told(store: SqliteStore) -> None:
    for number in range(3):
        keep(store, "shop", f"message-secret {number}")
    keep(store, "shop", opaque=True)
    keep(store, "desk")
    page = Page(store)
    found = samples(page.text())
    assert found["reenact_runs", 'agent="shop"'] == 4 and found["reenact_runs", 'agent="desk"'] == 1
    failed = {labels: count for (name, labels), count in found.items() if name == "reenact_failed_runs_total"}
    (labels,) = failed
    assert failed[labels] == 3 and re.fullmatch('agent="shop",fingerprint="[0-9a-f]{32}"', labels)
    assert cold(page.text()) == 1 and b"secret" not in page.text()
    assert found["reenact_unread_runs", ""] == 0
    keep(store, "shop", opaque=True)
    assert cold(page.text()) == 2
    for run in store.runs(agent="shop"):
        store.delete(run)
    assert cold(page.text()) == 2, "what was counted stays counted"
    assert samples(page.text())["reenact_runs", 'agent="desk"'] == 1


def test_a_flagged_run_is_counted_once_the_name_of_its_group_is_known(store: SqliteStore) -> None:
    """What was suspicious in it is a part of that name, and is looked for by the first triage."""
    flagged = keep(store, "shop")
    cold_before = keep(store, "desk", opaque=True)
    page = Page(store)
    assert cold(page.text()) == 1
    for run in (flagged, cold_before):
        store.amend(run, flag="wrong")
    found = samples(page.text())
    assert found["reenact_unread_runs", ""] == 2 and not [name for name, _ in found if "failed" in name]
    names = {run.id: run.fingerprint for run in all_seen(store)}
    found = samples(page.text())
    assert found["reenact_unread_runs", ""] == 0
    for run in (flagged, cold_before):
        labels = f'agent="{run.agent}",fingerprint="{names[run.id]}"'
        assert found["reenact_failed_runs_total", labels] == 1, "also of a run that was counted as cold before"


@pytest.mark.parametrize(
    "name", ['a"b\\c\nd', "\\n", "ä" * 300, "{}", "a\r\tb\x00", "", "日本", 'x"} 1\nreenact_runs 7']
)
def test_any_name_of_an_agent_is_a_label(store: SqliteStore, name: str) -> None:
    keep(store, name, "gone")
    keep(store, f"{name[:150]}{'z' * 200}", "gone")
    found = samples(Page(store).text())
    assert sum(count for (metric, _), count in found.items() if metric == "reenact_runs") == 2


def test_what_is_no_group_of_its_own_is_other(store: SqliteStore) -> None:
    for number in range(130):
        keep(store, f"agent{number}", "".join(chr(97 + int(digit)) for digit in str(number)))
    found = samples(Page(store).text())
    failed = {labels: count for (name, labels), count in found.items() if name == "reenact_failed_runs_total"}
    assert sum(failed.values()) == 130 and found["reenact_runs", 'agent="other"'] == 30
    assert len({labels.split("fingerprint=")[1] for labels in failed}) == 101


KEYS = st.builds(Key, st.sampled_from("xyz"), st.sampled_from("abcdefg"))


@given(st.lists(st.lists(KEYS, max_size=20), max_size=8), st.integers(1, 5))
def test_sums_never_shrink_and_hold_each_run_once(batches: list[list[Key]], most: int) -> None:
    tally, before, true = FingerprintTally(most), Counter[Key](), Counter[str]()
    for batch in batches:
        tally.add(batch)
        true.update(key.fingerprint for key in batch)
        assert tally.sums.total() == true.total()
        named = {key.fingerprint for key in tally.sums} - {OTHER}
        assert len(named) <= most and len({key.agent for key in tally.sums} - {OTHER}) <= most
        least = min((true[name] for name in named), default=0)
        if any(true[name] > least for name in set(true) - named):
            assert len(named) < most, "the most frequent are named, once they come again"
        assert all(tally.sums[key] >= count for key, count in before.items() if key in tally.sums)
        before = Counter(tally.sums)


def test_a_page_is_not_made_again_at_once(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "_REST", 1_000_000)
    page = Page(store)
    first = page.text()
    keep(store, "shop", "gone")
    assert page.text() is first


def fetched(port: int, **headers: str) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/metrics", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers["content-type"], answer.read()
    finally:
        connection.close()


def test_it_is_served_to_those_who_may_send(desk: Tried) -> None:
    served = Served(desk, "--token-env", "SECRET", SECRET="s3")
    try:
        assert fetched(served.port)[0] == 401 and fetched(served.port, authorization="Bearer s4")[0] == 401
        status, media, page = fetched(served.port, authorization="Bearer s3")
        assert (status, media) == (200, "text/plain; version=0.0.4; charset=utf-8") and cold(page) == 0
        bare = {"gen_ai.input.messages": None, "gen_ai.output.messages": None}
        sent = json.loads(text(agent(), chat(2, 1, says=bare)).splitlines()[0])
        assert served.post(json.dumps(sent), headers={"authorization": "Bearer s3"})[0] == 200
        page = fetched(served.port, authorization="Bearer s3")[2]
        assert cold(page) == 1 and re.search(rb'fingerprint="([0-9a-f]{32})"\} 1', page)
    finally:
        served.end()
