"""A whole session names the goldens that no test is about, and reports the rest, with workers as without."""

from __future__ import annotations

import pytest

from tests.plugin.desk import Project, results

TWO = """
import pytest

@pytest.mark.reenact("refund-loop")
def test_loop():
    pass

@pytest.mark.reenact("refund-loop")
def test_body(replayed):
    assert replayed.output == "<b>`something`</b>"

def test_without_a_golden():
    pass
"""
UNUSED = "goldens that no test names"


def test_workers_tell_all_that_the_whole_session_reports(desk: Project) -> None:
    desk.write("tests/test_it.py", TWO)
    ended = desk.pytest("--reenact-report=out", "--junitxml=junit.xml", "-n", "2", plugins="xdist")
    assert ended.counts == {"failed": 2, "passed": 1}, ended.out
    assert f"{UNUSED} =" in ended.out and "\ntests/goldens/same/greeting.reenact\n" in ended.out
    assert "tests/goldens/refund-loop.reenact\n" not in ended.out.split(UNUSED)[1].split("==")[1]
    found = results(desk.folder / "junit.xml")
    assert {name: how for name, (how, _) in found.items()} == {
        "test_loop": "failure",
        "test_body": "failure",
        "test_without_a_golden": "passed",
    }
    assert (desk.folder / "junit.xml").read_text().count('name="reenact.status" value="failed"') == 2
    assert sorted(path.name for path in (desk.folder / "out").iterdir()) == ["refund-loop.html", "summary.md"]
    summary = (desk.folder / "out" / "summary.md").read_text()
    assert summary.startswith("# Goldens: 0 of 1 passed\n\n\n## failed: `refund-loop` ([page](refund-loop.html))\n")
    assert "calls(search_docs) = 5, expected <= 2" in summary
    page = (desk.folder / "out" / "refund-loop.html").read_text()
    assert "calls(search_docs) &lt;= 2" in page and "http" not in page.replace("http-equiv", "")
    assert f"reenact: wrote {desk.folder / 'out' / 'summary.md'} and 1 pages\n" in ended.out


def test_a_body_that_fails_is_reported_though_its_golden_has_passed(desk: Project) -> None:
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("tests/test_it.py", TWO)
    ended = desk.pytest("--reenact-report=out")
    assert ended.counts == {"failed": 1, "passed": 2}, ended.out
    assert f"{UNUSED} =" in ended.out and "\ntests/goldens/same/greeting.reenact\n" in ended.out
    page = (desk.folder / "out" / "refund-loop.html").read_text()
    assert "the body of tests/test_it.py::test_body failed: AssertionError" in page
    assert "&lt;b&gt;`something`&lt;/b&gt;" in page and "<b>" not in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("tests",), True),
        (("-k", "without"), False),
        (("tests/test_it.py",), False),
        (("tests/test_it.py::test_without_a_golden",), False),
        (("--lf",), False),
    ],
    ids=str,
)
def test_whoever_runs_a_part_is_told_nothing_of_the_rest(desk: Project, options: tuple[str, ...], said: bool) -> None:
    desk.write("tests/test_it.py", "def test_without_a_golden():\n    pass\n")
    ended = desk.pytest(*options)
    assert (UNUSED in ended.out) == said, ended.out


def test_a_golden_that_passes_without_running_a_changed_tool_is_named(desk: Project) -> None:
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("tests/test_it.py", TWO.replace("output ==", "output !="))
    title = "goldens that have passed without running a changed tool"
    assert title not in desk.pytest().out
    desk.edit("shop.py", '["docs"], "query": query}', '["docs"][:9], "query": query}')
    ended = desk.pytest()
    assert ended.counts == {"passed": 3}, ended.out
    (named,) = [line for line in ended.out.partition(f"{title} =")[2].splitlines() if line.startswith("refund-loop: ")]
    assert "search_docs is answered as recorded: its code has changed since (shop.py), and no golden runs it" in named
