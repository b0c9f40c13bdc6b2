"""A marked test runs its golden and is judged by it: before its body, with or without the fixture, in any form."""

from __future__ import annotations

from tests.plugin.desk import Project, results
from tests.programs import read_program

FORMS = read_program("plugin/marked_in_every_form.py")

JUDGED = read_program("plugin/marked_and_expected_to_fail.py")


def test_every_form_of_a_test_is_about_its_golden(desk: Project) -> None:
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("tests/test_it.py", FORMS)
    ended = desk.pytest("--junitxml=junit.xml", "-p", "no:cacheprovider", plugins="anyio")
    found = results(desk.folder / "junit.xml")
    assert {name: how for name, (how, _) in found.items()} == {
        "test_without_the_fixture": "passed",
        "test_with_it": "passed",
        "test_async": "passed",
        "test_method[1]": "passed",
        "test_method[2]": "passed",
        "test_old": "passed",
        "test_pattern[same/greeting]": "passed",
        "test_several[refund-loop-x]": "passed",
        "test_several[not-there-x]": "failure",
        "test_pattern_of_nothing[nothing/*]": "failure",
        "test_typing_mistake": "failure",
        "test_body_fails": "failure",
        "test_unmarked": "error",
    }, ended.out
    for name, missing in (("test_several[not-there-x]", "not-there"), ("test_typing_mistake", "refund-lop")):
        assert f"there is no golden '{missing}'" in found[name][1]
        assert "there are refund-loop, same/greeting" in found[name][1]
    assert "there is no golden 'nothing/*'" in found["test_pattern_of_nothing[nothing/*]"][1]
    assert "assert \"I don't have any documents.\" == 'something else'" in found["test_body_fails"][1]
    assert "mark the test with @pytest.mark.reenact(NAME)" in found["test_unmarked"][1]
    assert "reenact: mode=frozen, network=blocked, 2 goldens\n" in ended.out
    properties = (desk.folder / "junit.xml").read_text()
    assert properties.count("files), the calling process") == 8 and properties.count("signals), own process") == 1
    assert 'name="reenact.golden" value="refund-loop"' in properties
    assert 'name="reenact.expectation.0" value="holds: calls(search_docs) &lt;= 2"' in properties


def test_a_golden_that_does_not_pass_fails_its_test_before_the_body_in_its_own_words(desk: Project) -> None:
    desk.write("tests/test_it.py", JUDGED)
    ended = desk.pytest("--junitxml=junit.xml")
    found = results(desk.folder / "junit.xml")
    assert {name: how for name, (how, _) in found.items()} == {
        "test_without_the_fixture": "failure",
        "test_with_it": "failure",
        "test_known": "skipped",
        "test_not_run": "skipped",
        "test_looked_at_by_a_fixture": "failure",
    }, ended.out
    assert ended.code == 1 and "a body ran" not in ended.out
    words = (
        "golden refund-loop failed\n"
        "calls(search_docs) = 5, expected <= 2; first bad event #6\n"
        "  next: reenact show tests/goldens/refund-loop.reenact"
    )
    assert all(found[name][1] == words for name, (how, _) in found.items() if how != "skipped"), found
    assert (desk.folder / "junit.xml").read_text().count('"reenact.golden"') == 4
    assert "_reenact_pytest" not in ended.out and "testing/goldens" not in ended.out
    assert "FAILED tests/test_it.py::test_with_it - reenact.errors.GoldenMismatch: golden refund-loop" in ended.out
