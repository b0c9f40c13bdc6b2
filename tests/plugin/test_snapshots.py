"""What a golden left is plain data: both snapshot libraries compare it as they are, and notice a change."""

from __future__ import annotations

from tests.plugin.desk import Project

INLINE = """
import pytest
from inline_snapshot import snapshot

@pytest.mark.reenact("refund-loop")
def test_state(replayed):
    assert replayed.state("search") == snapshot()
    assert replayed.calls("search_docs")[0].result["docs"] == snapshot()
"""
SYRUPY = """
import pytest

@pytest.mark.reenact("refund-loop")
def test_kept(replayed, snapshot):
    assert replayed.state("search") == snapshot
    assert replayed.calls("search_docs")[0].result == snapshot
"""
BOTH = "inline_snapshot syrupy"


def test_inline_snapshot_and_syrupy_keep_states_and_notice_a_change(desk: Project) -> None:
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("tests/test_inline.py", INLINE)
    desk.write("tests/test_kept.py", SYRUPY)
    desk.pytest("--inline-snapshot=create", "--snapshot-update", plugins=BOTH)
    written = (desk.folder / "tests/test_inline.py").read_text()
    assert "snapshot({'docs': [], 'searches': 1})" in written and '["docs"] == snapshot([])' in written, written
    assert "'searches': 1" in (desk.folder / "tests/__snapshots__/test_kept.ambr").read_text()
    desk.edit("shop.py", "SEARCHES = 1", "SEARCHES = 2")  # which the golden allows, and the snapshots do not
    changed = desk.pytest("--inline-snapshot=disable", plugins=BOTH)
    assert changed.counts["failed"] == 2, changed.out
    assert "assert {'docs': [], 'searches': 2} == {'docs': [], 'searches': 1}" in changed.out, changed.out
    assert "+   'searches': 2," in changed.out, changed.out
