"""RPCs to named hosts carry the run's trace in their metadata, in both APIs and all shapes; the recording does not."""

from __future__ import annotations

import pytest

from reenact.facts.call import Kind
from reenact.facts.tracecontext import named_hosts, span_id, trace_id
from reenact.store import open_store

from .conftest import Agent

OWN = "00-" + "1" * 32 + "-" + "2" * 16 + "-00"
CALLS = f"""
    with grpc.insecure_channel(TARGET) as channel:
        unary, down, up, both = methods(channel)
        print(unary(b"one", metadata=(("baggage", "user=7"),)), unary.future(b"two").result(), list(down(b"three")))
        print(up(iter([b"four"])), list(both(iter([b"five"]))), unary(b"six", metadata=(("traceparent", "{OWN}"),)))

    async def main():
        async with grpc.aio.insecure_channel("dns:///" + TARGET) as channel:
            unary, down, up, both = methods(channel)
            print(await unary(b"one"), [part async for part in down(b"two")], await up(iter([b"three"])))
            print([part async for part in both(iter([b"four"]))])

    asyncio.run(main())
"""


def test_a_named_host_gets_the_trace_and_the_replay_is_the_one_without(agent: Agent) -> None:
    agent.write(CALLS)
    settings = agent.folder / "reenact.toml"
    settings.write_text('[otel]\nendpoint = "http://127.0.0.1:9"\n')
    agent.record()
    without = agent.server.sent()
    assert [each[1:] for each in without] == [["", "user=7"], *[["", ""]] * 4, [OWN, ""], *[["", ""]] * 4]
    settings.write_text('[otel]\nendpoint = "http://127.0.0.1:9"\npropagate = ["127.0.0.1"]\n')
    agent.record()
    sent = agent.server.sent()[len(without) :]
    agent.server.close()
    with open_store(str(agent.folder / "store")) as store:
        recording = store.open(store.run("@"))
        before = store.open(store.run("@~1"))
        asked = [each for each in recording.events() if each.call.kind is Kind.HTTP and "shape" in each.call.head]
        then = [each for each in before.events() if each.call.kind is Kind.HTTP and "shape" in each.call.head]
        notes = [recording.notes(each.number).get("traceparent", "") for each in asked]
    own = [f"00-{trace_id(recording.run.id)}-{span_id(recording.run.id, each.number)}-01" for each in asked]
    assert notes == [*own[:5], "", *own[6:]]
    assert [each[1] for each in sent] == [*own[:5], OWN, *own[6:]]
    assert [each[2] for each in sent] == ["user=7", *[""] * 9]
    assert [(each.key, each.call.head) for each in asked] == [(each.key, each.call.head) for each in then]
    replayed = agent.replay()
    assert replayed.returncode == 0 and "verdict: same (exact)" in replayed.stderr, replayed.stderr


@pytest.mark.parametrize(
    "target", ["shop.example.com:50051", "dns:///shop.example.com:50051", "dns:shop.example.com:50051"]
)
def test_a_target_is_known_by_its_host(target: str) -> None:
    url = f"grpc://{target}/shop.Orders/Unary"
    assert named_hosts(["shop.example.com"])(url) and named_hosts(["*.example.com:50051"])(url)
    assert not named_hosts(["dns"])(url) and not named_hosts(["shop.example.com:443"])(url)
