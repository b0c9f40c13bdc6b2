"""What holds on the bad run, or fails on the mended one, is named as too weak, with a proposal that would work."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from openai import OpenAI

from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.testing import ProviderProcess
from reenact.testing.expectations.expectation import Expectation, expect
from reenact.testing.expectations.strength import proposals, strength, weak
from tests.expectations.conftest import recorded, search_docs, write


def test_strong_expectations_have_no_reason_against_them(bad: Recording, fixed: Recording) -> None:
    strong = [expect("calls(search_docs) <= 3"), expect("'documents' in answer")]
    assert weak(strong, bad) == weak(strong, bad, fixed) == ()
    found = strength(strong, bad, fixed)
    assert found.fails_on_bad and found.holds_on_fixed and all(each.strong for each in found.each)
    assert str(found.each[0].bad).endswith("; first bad event #7")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("calls(search_docs) <= 30",
         "calls(search_docs) <= 30: it holds on the bad run (calls(search_docs) = 20), so it cannot catch a "
         "regression; try calls(search_docs) <= 1 or repeats <= 3"),
        ("calls(serch_docs) <= 3", "nothing is called serch_docs there, did you mean search_docs?"),
        ("all(a['query'] != 'x' for a in args(search_docs))", "it holds on the bad run (args(search_docs) = ["),
        ("calls(pay) >= 1", "it fails on the fixed run too: calls(pay) = 0, expected >= 1; nothing is called pay "
         "there; the names are search_docs; try"),
        ("tools >= 1", "try tools <= 1 or calls(search_docs) <= 1 or repeats <= 3"),
    ],
)  # fmt: skip
def test_a_weak_one_says_why_and_what_to_say_instead(bad: Recording, fixed: Recording, text: str, reason: str) -> None:
    (found,) = weak([expect(text)], bad, fixed)
    assert reason in found


def test_each_is_judged_alone(bad: Recording, fixed: Recording) -> None:
    found = strength([expect("calls(search_docs) <= 3"), expect("user == 'u1'")], bad, fixed)
    assert [each.strong for each in found.each] == [True, False]
    assert found.fails_on_bad and found.holds_on_fixed and len(found.reasons) == 1


def test_what_cannot_be_judged_proves_nothing(fixed: Recording) -> None:
    asked = recorded(lambda: write([{"role": "user", "text": "hello"}]))
    (reason,) = weak([expect("cost < 1")], asked)
    assert reason.startswith("cost < 1: it cannot be judged on the bad run: cost is unknown")
    found = strength([expect("cost < 1")], asked)
    assert not found.fails_on_bad and not found.each[0].strong


def test_what_is_proposed_fails_on_the_bad_run_and_holds_on_the_mended(bad: Recording, fixed: Recording) -> None:
    for weakling in ("calls(search_docs) <= 30", "tools < 100", "repeats >= 2", "user == 'u1'"):
        for mended in (None, fixed):
            found = proposals(expect(weakling), bad, mended)
            assert found
            for text in found:
                assert Expectation(text).judge(bad).holds is False, text
                assert mended is None or Expectation(text).judge(mended).holds, text


def test_a_run_in_which_nothing_stands_out_gets_no_proposal() -> None:
    quiet = recorded(lambda: search_docs("once"))
    (reason,) = weak([expect("status == 'ok'")], quiet)
    assert reason == "status == 'ok': it holds on the bad run (status = 'ok'), so it cannot catch a regression"


def test_nothing_expected_is_refused_with_what_stands_out(bad: Recording) -> None:
    with pytest.raises(UsageError, match="nothing is expected") as caught:
        weak([], bad)
    assert "repeats <= 3" in caught.value.cause


def test_what_is_to_stay_true_holds_on_both_runs(bad: Recording, fixed: Recording) -> None:
    held = [expect("user == 'u1'"), expect("calls(search_docs) >= 1")]
    found = strength([], bad, fixed, holds=held)
    assert found.reasons == () and not found.fails_on_bad and found.holds_on_fixed
    (reason,) = strength([], bad, fixed, holds=[expect("calls(search_docs) <= 3")]).reasons
    assert (
        reason
        == "calls(search_docs) <= 3: it does not hold on the recorded run: calls(search_docs) = 20, expected <= 3"
    )
    (reason,) = strength([], bad, fixed, holds=[expect("calls(refund) == 1")]).reasons
    assert "it fails on the fixed run: calls(refund) = 0" in reason


def test_a_tool_that_is_a_plain_request_is_listed_under_the_name_of_the_request(
    tmp_path: Path,
) -> None:
    """The model asks for ``get_stock``, and the code makes a request of its own."""
    script = tmp_path / "world.py"
    script.write_text(
        "from reenact.testing.provider import Rule, Script, ToolUse\n"
        'SCRIPT = Script(rules=(Rule(uses=(ToolUse("get_stock", {"sku": "lamp"}),)),))\n'
    )

    def asks() -> None:
        client = OpenAI(base_url=f"{world.url}/v1", api_key="sk-of-a-test-1234567890")
        client.chat.completions.create(model="gpt-5.4", messages=[{"role": "user", "content": "how many?"}])
        httpx.get(f"{world.url}/stock/lamp")

    with ProviderProcess(script) as world:
        made = recorded(asks)
    (found,) = weak([expect("calls(get_stock) <= 1")], made)
    host = world.url.removeprefix("http://")
    assert f"the names are 'gpt-5.4', 'GET {host}/stock/lamp'; a model asks for get_stock, which no @reenact" in found
    assert expect(f"calls('GET {host}/stock/lamp') == 1 and calls('gpt-5.4') == 1").judge(made).holds
