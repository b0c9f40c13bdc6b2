"""Proves that the replay cannot lie: every altered request is caught, every altered answer shows in the agent."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.withstand.editing import Edited, facts
from tests.withstand.mutation import Mutation, mutations
from tests.withstand.stage import SCRIPTS, Ended, Recorded, replay

SAMPLE = 7
"""Alterations of each sort without a sweep."""

Recording = Callable[[str], Recorded]
Copy = Callable[[Recorded], Recorded]


def _chosen(recorded: Recording, side: str, sweep: bool, chance: random.Random) -> list[tuple[Recorded, Mutation]]:
    names = SCRIPTS if sweep else chance.sample(SCRIPTS, SAMPLE)
    chosen = []
    for name in names:
        run = recorded(name)
        every = [each for each in mutations(run.folder / ".reenact") if each.side == side]
        chosen += [(run, each) for each in (every if sweep else [chance.choice(every)])]
    return chosen


def _replayed(copy: Copy, run: Recorded, mutation: Mutation, seed: int) -> Ended:
    altered = copy(run)
    mutation.apply(altered.folder / ".reenact", random.Random(seed))
    return replay(altered, *(("--through", mutation.through) if mutation.through else ()))


def _all_replayed(copy: Copy, chosen: list[tuple[Recorded, Mutation]], chance: random.Random) -> list[Ended]:
    seeds = [chance.getrandbits(32) for _ in chosen]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda each, seed: _replayed(copy, each[0], each[1], seed), chosen, seeds))


@pytest.mark.timeout(3600)
def test_every_altered_request_is_caught(
    recorded: Recording, copy: Copy, sweep: bool, chance: random.Random, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = _chosen(recorded, "request", sweep, chance)
    caught, missed = Counter[str](), []
    for (run, mutation), ended in zip(chosen, _all_replayed(copy, chosen, chance), strict=True):
        report = ended.report
        named = report["divergence"] is not None or any(each["what"] == "unused" for each in report["differences"])
        if report["verdict"] == "different" and ended.status == 1 and named and report["live_calls"] == 0:
            caught[run.name] += 1
        else:
            missed.append(f"{run.name}: {mutation}: {report['last_line']}")
    with capsys.disabled():
        print(f"\n  altered requests: {caught.total()} of {len(chosen)} caught {dict(caught)}")
    assert not missed


@pytest.mark.timeout(3600)
def test_every_altered_answer_shows_in_what_the_agent_does(
    recorded: Recording, copy: Copy, sweep: bool, chance: random.Random, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = _chosen(recorded, "answer", sweep, chance)
    shown, unseen = Counter[str](), []
    for (run, mutation), ended in zip(chosen, _all_replayed(copy, chosen, chance), strict=True):
        what = {each["what"] for each in ended.report["differences"]}
        if what & {"stdout", "exit status", "divergence"} and ended.status == 1:
            shown.update(what)
        else:
            unseen.append(f"{run.name}: {mutation}: {ended.report['last_line']}")
    with capsys.disabled():
        print(f"\n  altered answers: {len(chosen) - len(unseen)} of {len(chosen)} shown, by {dict(shown)}")
    assert not unseen


def test_an_alteration_that_alters_nothing_is_not_caught(recorded: Recording, copy: Copy) -> None:
    altered = copy(recorded("tools"))
    edited = Edited(altered.folder / ".reenact")
    for event, request, _ in facts(altered.folder / ".reenact"):
        edited.request(event, replace(event.call, body=request))
    assert replay(altered).report["verdict"] == "exact"
