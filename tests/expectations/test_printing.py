"""A text that is looked for in the answer, and that only what the run printed has, is named with the word for it."""

from __future__ import annotations

import reenact
from reenact.abc.store import Recording
from reenact.store.memory_store import MemoryStore
from reenact.testing.expectations.expectation import expect
from reenact.testing.expectations.printed_text import beside
from reenact.testing.expectations.strength import weak
from reenact.timetravel.vocabulary import RunScope


def _ran(printed: str) -> Recording:
    """A run that returns a text, and prints another."""
    store = MemoryStore()

    @reenact.record(store=store)
    def answered() -> str:
        print(printed, end="")
        return "order 17 is on its way"

    answered()
    (run,) = store.runs()
    return store.open(run.id)


def test_it_is_said_where_the_expectation_is_judged() -> None:
    shouted = _ran("SHIPPED: 17\n")
    seen = expect("'SHIPPED' in answer").judge(shouted).seen
    assert seen.endswith("what it printed has that: 'SHIPPED' in stdout"), seen
    (reason,) = weak([expect("'SHIPPED' not in answer")], shouted)
    assert "'SHIPPED' in stdout" in reason
    for text in ("'lost' in answer", "'SHIPPED' in stdout and 'lost' in answer"):
        assert "what it printed" not in expect(text).judge(shouted).seen


def test_an_answer_that_is_not_what_was_printed_is_told_apart() -> None:
    def told(recording: Recording, *texts: str) -> str:
        scope = RunScope(recording.run, lambda: recording)
        return beside([expect(text).compiled() for text in texts], scope)

    shouted = _ran("SHIPPED: 17\n")
    found = told(shouted, "'lost' in answer")
    assert 'a model said last, "order 17 is on its way"' in found and found.endswith('"SHIPPED: 17", is stdout'), found
    assert not told(shouted, "'lost' in answer", "'lost' in stdout") and not told(shouted, "tools == 0")
    for part_of_it in ("it said: order 17  is\non its way\n", ""):
        assert not told(_ran(part_of_it), "'lost' in answer")
