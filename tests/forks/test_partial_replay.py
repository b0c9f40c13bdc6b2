"""Proves that ``replay --live`` opens just what it names, writes nothing, and says that it is a fork."""

from __future__ import annotations

import json
from typing import Any

import pytest

import reenact
from tests.forks.conftest import Forks
from tests.programs import read_program

AGENT = read_program("forks/order_by_the_price.py")


@pytest.fixture
def shop(forks: Forks) -> Forks:
    (forks.desk.folder / "prices").write_text("1")
    assert forks.record(AGENT) == "price 101 stock 1\n2 tea ordered\n"
    (forks.desk.folder / "marks").unlink()
    return forks


def live(shop: Forks, *options: str, status: int = 0) -> dict[str, Any]:
    done = shop.desk.run("replay", shop.parent, *options, "--json", status=status)
    report: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return {**report, "said": done.stderr}


def marks(shop: Forks) -> str:
    path = shop.desk.folder / "marks"
    return path.read_text() if path.exists() else ""


def test_what_is_named_goes_live_with_what_it_calls(shop: Forks) -> None:
    (shop.desk.folder / "prices").write_text("12")
    report = live(shop, "--live", "price")
    assert marks(shop) == "price-tea rate-tea "
    assert "price 102 stock 1\n2 tea ordered" in report["said"]
    assert "a fork without writes" in report["first_line"] and "live calls allowed: price" in report["first_line"]
    assert (report["live"], report["status"], report["exit_code"]) == (2, "ok", 0)
    assert shop.runs()[0]["relation"] == "fork"
    shop.replays_exactly(report["run"])


def test_a_miss_stops_and_lists_the_recorded_calls(shop: Forks) -> None:
    (shop.desk.folder / "prices").write_text("1" * 100)
    report = live(shop, "--live", "price", status=5)
    assert "stock has no recorded answer, and only price may go live" in report["message"]
    assert 'stock(item="tea", amount=1)\n' in report["message"] and 'stock(item="cups", amount=2)' in report["message"]
    assert "order" not in marks(shop)


ASKS = """
    import reenact

    @reenact.tool(effect="read")
    def price(item):
        return len(open("prices").read())

    @reenact.model
    def think(prompt):
        return prompt.upper()

    print(think(f"is {price('tea')} much?"))
"""


def test_where_a_model_must_be_asked_the_next_command_opens_models_too(forks: Forks) -> None:
    (forks.desk.folder / "prices").write_text("1")
    forks.record(ASKS)
    (forks.desk.folder / "prices").write_text("123")
    report = live(forks, "--live", "price", status=5)
    assert "think has no recorded answer, and only price may go live" in report["message"]
    onward = report["message"].rpartition("next: ")[2]
    assert onward == f"reenact replay {forks.parent[-8:]} --live price --live model"
    assert "IS 3 MUCH?" in forks.desk.run(*onward.split()[1:]).stdout


def test_a_kind(shop: Forks) -> None:
    report = live(shop, "--live", "tool")
    assert (report["live"], report["refused"]) == (4, [])
    assert marks(shop) == "price-tea rate-tea stock-tea stock-cups "


def test_what_cannot_be_opened(shop: Forks) -> None:
    for words, says in (
        (("--live", "order"), "a replay makes no writes"),
        (("--live", "http"), "makes no call of http"),
        (("--live", "price", "--events"), "--live and --events exclude each other"),
        (("--live", "price", "--order", "shuffle"), "--live and --order exclude each other"),
    ):
        assert says in live(shop, *words, status=2)["said"]
    assert (len(shop.runs()), marks(shop)) == (1, "")


def test_in_code(shop: Forks, capfd: pytest.CaptureFixture[str]) -> None:
    (shop.desk.folder / "prices").write_text("12")
    with reenact.open_store(str(shop.desk.folder / ".reenact")) as store:
        replayed = reenact.replay(shop.parent, live=["price"], store=store)
        assert (replayed.verdict, replayed.live_calls, replayed.divergence) == ("fork", 2, None)
        assert "price 102" in capfd.readouterr().out
        (shop.desk.folder / "prices").write_text("1" * 100)
        with pytest.raises(reenact.ReenactError, match=r"only price may go live(?s:.*)event \d+  stock\(item=\"cups\""):
            reenact.replay(shop.parent, live=["price"], store=store)
