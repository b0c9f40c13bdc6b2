"""Mode review under pytest: it shows what differs and fails, asks nobody, accepts what it is told to, runs the body."""

from __future__ import annotations

from tests.plugin.desk import Project

TEST = """
import pytest

@pytest.mark.reenact("refund-loop")
def test_it(replayed):
    assert len(replayed.calls("search_docs")) == 1
    assert replayed.outcome.status == "passed"
"""


def test_differences_fail_the_test_until_each_is_accepted_in_a_clone_of_the_project(desk: Project) -> None:
    """Elsewhere than it was recorded, without the store, the key and the world."""
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("tests/test_it.py", TEST)
    bundle = desk.folder / "tests/goldens/refund-loop.reenact"
    before = bundle.read_bytes()

    shown = desk.pytest("--reenact=review", "-q")
    assert shown.counts == {"failed": 1}, shown.out
    assert "8 of 8 differences are not accepted\n" in shown.out
    assert "fix     8             tool search_docs  not made any more\n" in shown.out, shown.out
    assert "  next: python -m pytest --reenact=review --reenact-accept=refund-loop:" in shown.out
    assert bundle.read_bytes() == before

    part = desk.pytest("--reenact=review", "--reenact-accept=refund-loop:8=two are enough", "-q")
    assert part.counts == {"failed": 1} and "7 of 8 differences are not accepted\n" in part.out, part.out

    whole = desk.pytest("--reenact=review", "--reenact-accept-all=one is enough", "-q")
    assert whole.counts == {"passed": 1}, whole.out
    listed = desk.run("reenact", "golden", "ls", "refund-loop", "--history").out
    assert listed.count("  one is enough") == 7 and listed.count("  two are enough") == 1, listed
    assert desk.pytest("--reenact=review", "-q").counts == {"passed": 1}
