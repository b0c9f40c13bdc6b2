"""The asyncio API of gRPC is recorded and replayed exactly with the server gone, in all shapes and ways of calling."""

from __future__ import annotations

import sys
import textwrap

from tests.programs import read_program

from .conftest import Agent


def inside(text: str) -> str:
    """A program whose text runs in a coroutine with the four methods at hand."""
    lead = (
        "async def main():\n"
        "    async with grpc.aio.insecure_channel(TARGET) as channel:\n"
        "        unary, down, up, both = methods(channel)\n"
    )
    return lead + textwrap.indent(textwrap.dedent(text), " " * 8) + "\n\nasyncio.run(main())\n"


def test_single_answers_with_metadata_errors_and_deadlines(agent: Agent) -> None:
    said = agent.same(
        inside("""
        await channel.channel_ready()
        print(channel.get_state())
        call = unary(b"one", metadata=(("a", "b"),), timeout=30)
        print(await call, await call.code(), await call.initial_metadata(), await call.trailing_metadata(), call.done())
        print(await unary(b"empty"), 0 < call.time_remaining() <= 30)
        try:
            await unary(b"fail")
        except grpc.RpcError as error:
            failed(error)
            print(error.initial_metadata())
        try:
            await unary(b"hang", timeout=0.2)
        except grpc.aio.AioRpcError as error:
            print(error.code())
        called = []
        call = unary(b"called")
        call.add_done_callback(lambda call: called.append(call.done()))
        print(await call, called)
        """)
    )
    assert "AioRpcError True StatusCode.NOT_FOUND no such thing" in said and "DEADLINE_EXCEEDED" in said


def test_calls_are_written_out_as_the_library_writes_them(agent: Agent) -> None:
    said = agent.same(
        inside("""
        call = unary(b"one")
        print(call)
        await call
        print(repr(call))
        stream = down(b"two")
        print([message async for message in stream], await stream.code())
        print(stream)
        failing = unary(b"fail")
        try:
            await failing
        except grpc.RpcError as error:
            print(error, failing)
        """)
    )
    assert "status = no such thing" in said


def test_streams_are_read_written_iterated_and_fail(agent: Agent) -> None:
    said = agent.same(read_program("grpc/streams_of_asyncio.py"))
    assert "StatusCode.DATA_LOSS lost" in said and "b'a++c " in said


def test_cancelled_calls_are_cancelled_at_the_same_place(agent: Agent) -> None:
    said = agent.same(read_program("grpc/cancelled_by_asyncio.py"))
    assert "cancelled StatusCode.CANCELLED Locally cancelled" in said and "cancelled too" in said


def test_concurrent_calls_keep_their_answers_and_their_order(agent: Agent) -> None:
    said = agent.same(
        inside("""
        seen = []

        async def ask(word):
            seen.append(await unary(word))

        asked = (b"wait", b"same", b"same", b"wait", b"quick", b"quick")
        await asyncio.gather(*map(ask, asked))
        print(len(seen), sorted(word.rpartition(b" ")[0] for word in seen))
        first, rest = await asyncio.wait([asyncio.ensure_future(ask(w)) for w in (b"wait", b"quick")],
                                         return_when=asyncio.FIRST_COMPLETED)
        await asyncio.gather(*rest)
        print(len(seen))
        """)
    )
    assert said.startswith("6 ") and said.endswith("\n8\n")


def test_a_channel_made_before_anything_is_recorded_is_followed(agent: Agent) -> None:
    agent.write(
        inside("""
        import reenact

        blocking = methods(grpc.insecure_channel(TARGET))[0]
        print(await unary(b"before"), blocking(b"before"))
        async with reenact.record():
            print(await unary(b"one"), blocking(b"two"), [message async for message in down(b"x")])
        print(await unary(b"after"))
        """)
    )
    done = agent.run(sys.executable, "agent.py")
    assert done.returncode == 0, done.stderr
    shown = agent.run(sys.executable, "-m", "reenact", "show", "@").stdout
    assert shown.count("shop.Orders/Unary") == 2 and "shop.Orders/Down" in shown
