"""The kit of the order look-up names its cause, and that of the fixed agent lacks only what nobody offers."""

from __future__ import annotations

import sqlite3

from reenact.testing import ProviderProcess
from tests.kit.recorded import EXAMPLES, Workbench

ASK = "Where is my order?"
WHO = "--agent order_lookup --user u_7710 --tenant shop_4 --tag id=r_8821"


def test_the_failing_look_up_lacks_exactly_its_user_and_tenant_and_the_fixed_one_nothing(repository: Workbench) -> None:
    desk = repository
    desk.copy("order_lookup")
    desk.commit()
    with ProviderProcess(EXAMPLES / "order_lookup" / "world.py") as world:
        desk.environ = {**world.environment(), "ORDERS_URL": world.url}
        failing = desk.record("order_lookup/agent.py", ASK, options=WHO)
        fixed = desk.record("order_lookup/agent_fixed.py", ASK, options=WHO)
    assert "#4421" in failing.stdout and "#5093" in fixed.stdout
    assert (
        "(user_id in tool calls, tenant_id in tool calls missing)" in failing.stderr and "missing" not in fixed.stderr
    )

    wrong, right = desk.kit("@~1"), desk.kit("@")
    assert (wrong.whole["missing"], wrong.whole["partial"]) == (["user_id", "tenant_id"], [])
    assert (right.whole["missing"], right.whole["partial"]) == ([], [])
    assert right.whole["there"] == right.whole["counted"] == len(right.items) - len(right.whole["not_offered"])
    assert set(right.whole["not_offered"]) == {"session", "traceparent", "region", "seed", "fingerprint"}
    assert wrong.whole["verdict"] == right.whole["verdict"] == "replays as code"

    run = wrong.whole["run"]
    for name, value in (("user_id", "u_7710"), ("tenant_id", "shop_4")):
        item = wrong.items[name]
        assert item["events"] == [f"{run}:1"] and "lookup_order (GET /orders)" in item["about"]
        assert value in item["about"] and item["capture"] and item["bucket"] == "side effects"
        assert right.standing(name) == "captured"


def test_the_kit_holds_the_evidence_itself(repository: Workbench) -> None:
    desk = repository
    desk.copy("order_lookup")
    desk.commit()
    with ProviderProcess(EXAMPLES / "order_lookup" / "world.py") as world:
        desk.environ = {**world.environment(), "ORDERS_URL": world.url, "TZ": "Europe/Berlin", "LC_ALL": "C.UTF-8"}
        desk.record("order_lookup/agent.py", ASK, options=WHO)
    items = desk.kit().items
    (prompt,) = items["system_prompt"]["value"]
    assert prompt["text"].startswith("You are the order desk of a web shop. The customer is u_7710.")
    (schemas,) = items["tool_schemas"]["value"]
    assert schemas["tools"][0]["schema"]["required"] == ["query"] and len(schemas["hash"]) == 32
    assert items["model"]["value"] == [{"asked": "claude-haiku-5-5", "answered": "claude-haiku-5-5-20251001"}]
    assert items["input"]["value"][-2:] == ["order_lookup/agent.py", ASK]
    assert items["time_zone"]["value"]["TZ"] == "Europe/Berlin" and items["locale"]["value"]["LC_ALL"] == "C.UTF-8"
    assert [name for name, _ in items["packages"]["value"] if name == "anthropic"] == ["anthropic"]
    assert len(items["commit"]["value"]) == 40
    assert items["sources"]["value"]["files"] == ["order_lookup/agent.py"]
    assert items["hash_seed"]["value"].isdigit()
    first, exchange, last = items["timestamps"]["value"]
    assert first["start_us"] < first["first_byte_us"] <= first["first_token_us"] <= first["end_us"]
    assert exchange["first_token_us"] is None and last["start_us"] >= exchange["end_us"]


def test_the_kit_for_a_person_shows_three_buckets_and_ends_with_the_next_command(repository: Workbench) -> None:
    desk = repository
    desk.copy("order_lookup")
    desk.commit()
    with ProviderProcess(EXAMPLES / "order_lookup" / "world.py") as world:
        desk.environ = {**world.environment(), "ORDERS_URL": world.url}
        desk.record("order_lookup/agent.py", ASK, options=WHO)
    shown = desk.run("kit")
    lines = shown.stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")][2:] == [
        "input", "environment", "side effects", "not offered, or not asked for",
    ]  # fmt: skip
    assert [line.split()[1] for line in lines if line.startswith("  MISSING")] == ["user_id", "tenant_id"]
    assert lines[1].startswith("verdict: replays as code   kit ")
    next_command = shown.stderr.splitlines()[-1].removeprefix("next: reenact ")
    assert next_command.endswith(":1") and "GET" in desk.run(*next_command.split()).stdout

    budget = desk.run("kit", "--budget").stdout.splitlines()[2:]
    assert [line[2:24].strip() for line in budget] == [
        "sampling", "seed", "model drift", "provider routing", "tool latency and races", "tool drift",
        "retrieval freshness", "time-of-day load", "clock logic",
    ]  # fmt: skip


def test_a_run_whose_bytes_are_gone_is_a_cold_case(desk: Workbench) -> None:
    desk.copy("order_lookup")
    with ProviderProcess(EXAMPLES / "order_lookup" / "world.py") as world:
        desk.environ = {**world.environment(), "ORDERS_URL": world.url}
        desk.record("order_lookup/agent.py", ASK, options=WHO)
    assert desk.kit().whole["verdict"] == "replays as code"
    with sqlite3.connect(desk.folder / ".reenact" / "store.db") as store:
        store.execute("DELETE FROM payload")
    store.close()
    kit = desk.kit()
    assert kit.whole["verdict"] == "cold case" and kit.items["payloads"]["capture"][0].startswith("reenact fsck")
