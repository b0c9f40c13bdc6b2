"""Modes: a stale golden says what to do, ``missing`` does it once, and what cannot be asked for is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reenact.store.bundles import members_of, read_bundle
from reenact.testing import ProviderProcess, expect
from reenact.testing.goldens.golden_writer import with_golden
from reenact.testing.goldens.opened_golden import open_golden
from tests.plugin.conftest import KEY
from tests.plugin.desk import Project

ONE = """
import pytest

@pytest.mark.reenact("refund-loop")
def test_it(replayed):
    assert replayed.output == "I don't have any documents."
    assert replayed.live_calls == 0
"""


def test_a_missing_answer_is_recorded_once_and_then_frozen(desk: Project, world: ProviderProcess) -> None:
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.edit("shop.py", "Answer politely.", "Answer in one sentence.")
    desk.write("tests/test_it.py", ONE)
    bundle = desk.folder / "tests/goldens/refund-loop.reenact"
    recorded = bundle.read_bytes()
    stale = desk.pytest("-q")
    assert stale.counts == {"failed": 1}, stale.out
    assert "golden refund-loop is stale (exit code 3)\n" in stale.out
    assert "  next: reenact golden run refund-loop --mode missing\n" in stale.out
    assert bundle.read_bytes() == recorded

    before = world.counts
    asked = desk.pytest("--reenact=missing", "-q", more={**KEY, "SHOP_URL": world.url})
    assert asked.counts == {"passed": 1}, asked.out
    assert {path: n - before.get(path, 0) for path, n in world.counts.items() if n != before.get(path, 0)} == {
        "/v1/chat/completions": 1
    }
    kept = bundle.read_bytes()
    assert kept != recorded

    after = world.counts
    frozen = desk.pytest("-q", "--junitxml=junit.xml")
    assert frozen.counts == {"passed": 1}, frozen.out
    assert 'name="reenact.used.overlay" value="1"' in (desk.folder / "junit.xml").read_text()
    assert world.counts == after and bundle.read_bytes() == kept


def test_a_model_that_judges_is_asked_once_and_then_kept(desk: Project, world: ProviderProcess) -> None:
    """In a clone of the project, where the agent is called in the process of the test."""
    bundle = desk.folder / "tests/goldens/refund-loop.reenact"
    judged = expect("judge('it says that there are no documents', 'gpt-judge')")
    with_golden(bundle, replace(open_golden(bundle).golden, expect=(judged.to_json(),)))
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("tests/test_it.py", ONE)
    stale = desk.pytest("-q")
    assert stale.counts == {"failed": 1}, stale.out
    assert "golden refund-loop is stale (exit code 3)\n" in stale.out
    assert "  next: reenact golden run refund-loop --mode missing\n" in stale.out

    before = world.counts
    asked = desk.pytest("--reenact=missing", "-q", more={**KEY, "OPENAI_BASE_URL": f"{world.url}/v1"})
    assert asked.counts == {"passed": 1}, asked.out
    assert {path: n - before.get(path, 0) for path, n in world.counts.items() if n != before.get(path, 0)} == {
        "/v1/chat/completions": 1
    }

    after, kept = world.counts, bundle.read_bytes()
    frozen = desk.pytest("-q", "--junitxml=junit.xml")
    assert frozen.counts == {"passed": 1}, frozen.out
    said = (desk.folder / "junit.xml").read_text()
    assert 'name="reenact.opinions.kept" value="1"' in said and 'name="reenact.opinions.asked" value="0"' in said
    assert world.counts == after and bundle.read_bytes() == kept
    assert KEY["OPENAI_API_KEY"].encode() not in b"".join(members_of(read_bundle(bundle).runs, None).values())


@pytest.mark.parametrize(
    ("ini", "options", "variables", "header"),
    [
        ("missing", (), {}, "mode=missing, network=open to models, 2 goldens"),
        ("missing", (), {"CI": "true"}, "mode=frozen, network=blocked, 2 goldens"),
        ("missing", ("--reenact=rerecord",), {"CI": "true"}, "mode=rerecord, network=open to models, 2 goldens"),
        ("sometimes", (), {}, "reenact_mode = 'sometimes' in the ini file is no mode"),
        ("", ("--reenact=review",), {}, "mode=review, network=blocked, 2 goldens"),
        ("", ("--reenact-accept-all=x",), {}, "--reenact-accept accepts what a review shows"),
        ("", ("--reenact=review", "--reenact-accept=7=x"), {}, "--reenact-accept=7=x is not GOLDEN:EVENT=REASON"),
    ],
)
def test_the_mode_is_what_was_asked_for_and_frozen_on_ci(
    desk: Project, ini: str, options: tuple[str, ...], variables: dict[str, str], header: str
) -> None:
    desk.edit("pyproject.toml", "pythonpath", f'reenact_mode = "{ini}"\npythonpath')
    ended = desk.pytest("--collect-only", *options, more=variables)
    assert header in ended.out
    assert (ended.code == 4) == ("mode=" not in header), ended.out
