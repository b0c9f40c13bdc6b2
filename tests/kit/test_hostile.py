"""A kit is judged of whatever a store holds: runs of other writers, of other versions, and with odd values in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.call import Kind, Value
from reenact.facts.kit import ReplayUse, allowance_data, item_data, kit_data
from reenact.facts.record import CallSettled, EvidenceNoted
from reenact.facts.run import Entry, Status
from reenact.store.memory_store import MemoryStore
from reenact.triage.budget import allow
from reenact.triage.kit_of_run import judge
from reenact.triage.scene import PROCESS, REVISION, scene_of
from tests.kit.stories import Story

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.just("openai.chat"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def keyed(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these keys, and anything under them."""
    return st.dictionaries(st.sampled_from(names), json_values, max_size=len(names))


ENVIRONMENT = keyed(
    *("python", "implementation", "time_zone", "locale", "encoding", "env", "env_names", "env_secret"),
    *("conventional", "traceparent", "git", "hash_randomisation"),
)
REVISIONS = keyed("commit", "branch", "dirty", "changed", "untracked", "diff", "whole") | json_values
PROCESSES = keyed("digest", "packages", "sources", "texts", "held_by") | json_values
READINGS = keyed("dialect", "provider", "params", "system", "messages", "tools", "tools_hash", "tool_calls", "text")
HEADS = keyed("method", "url", "headers", "opaque", "embedding_model", "chunks", "tool")
KINDS = st.sampled_from([kind for kind in Kind if kind is not Kind.GAP])
CALLS = st.lists(st.tuples(KINDS, HEADS, HEADS, keyed("reading", "user_id", "embedding_model", "flag.x")), max_size=5)


@pytest.mark.timeout(900)  # a sweep takes its time
@given(ENVIRONMENT, REVISIONS, PROCESSES, READINGS, CALLS, keyed("require", "order"))
def test_nothing_in_a_store_keeps_a_kit_from_being_judged(
    environment: Any, revision: Any, process: Any, reading: Any, calls: Any, capture: Any
) -> None:
    with MemoryStore() as store:
        scene = Story(store, 1, entry=Entry("command"), environment=environment, capture=capture, user="u")
        scene._put(EvidenceNoted(None, REVISION, revision), EvidenceNoted(None, PROCESS, process))
        for kind, head, answer, notes in calls:
            number = scene.issue(kind, "call", b'{"a": 1}', head=head)
            for name, value in ({"reading": reading} | notes).items():
                scene.note_on(number, name, value)
            scene._put(CallSettled(number, number, Value(b"1", head=answer)))
        found = scene_of(store, scene.close(Status.OK))
        kit = judge(found)
        assert kit.verdict in set(ReplayUse) and len({item.name for item in kit.items}) == len(kit.items)
        for item in kit.items:
            assert item.about and item_data(item, kit.run)
        assert kit_data(kit)["counted"] >= kit_data(kit)["there"]
        assert len([allowance_data(line, kit.run) for line in allow(found)]) == 9
