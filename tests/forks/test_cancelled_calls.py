"""Proves that a call which the parent cancelled is asked where a fork does not cancel it, if it may be: of a tool, over
HTTP and of an MCP server; and that a write which may have been made is not made again."""

from __future__ import annotations

import pytest

from tests.forks.conftest import Forks
from tests.forks.counting import counting
from tests.mcp.conftest import SERVER
from tests.programs import read_program

TOOLS = read_program("forks/cancelled_tools.py")
SOONER = ("--set", "cancels=false")


def test_a_read_is_asked_where_its_timeout_is_later_or_nothing_cancels_it(forks: Forks) -> None:
    assert forks.record(TOOLS) == "too slow\nmeanwhile 0.001\ncancelled\nthen 0.002\n"
    same = forks.fork("plan#1")
    assert (same["live"], same["printed"]) == (0, "too slow\nmeanwhile 0.001\ncancelled\nthen 0.002\n")
    report = forks.fork("plan#1", "--set", "limit=30", *SOONER)
    assert report["printed"] == "0.3\nmeanwhile 0.001\ngot 0.2\nthen 0.002\n"
    made = [(answer["name"], answer["why"]) for answer in report["answers"] if answer["how"] == "live"]
    why = "it was cancelled when it was recorded, and is not now"
    assert made == [("look", why), ("inner", "no recorded answer for this call")] * 2
    forks.replays_exactly()
    refused = forks.fork("plan#1", *SOONER, "--live", "none", status=1)
    assert "(look), which was cancelled before it had an answer: look has no recorded answer" in refused["message"]
    assert refused["printed"] == "too slow\nmeanwhile 0.001\n"
    forks.replays_exactly()


def test_a_write_may_have_been_made(forks: Forks) -> None:
    forks.record(TOOLS.replace("tool = look", "tool = pay"))
    paid = forks.desk.folder / "paid"
    refused = forks.fork("plan#1", *SOONER, status=5)
    assert "pay may change the world, and is not allowed to" in refused["message"]
    assert "it was cancelled when it was recorded" in refused["message"]
    assert "; --allow-write pay lets it be made" in refused["message"]
    assert refused["message"].splitlines()[-1].strip() == (
        f"next: reenact fork {forks.parent[-8:]}:0 --set cancels=false --allow-write pay"
    )
    forks.replays_exactly()
    allowed = (*SOONER, "--allow-write", "pay")
    doubted = forks.fork("plan#1", *allowed, status=3)
    assert "pay may have changed the world already" in doubted["message"]
    assert len(doubted["doubted"]["write"]) == 32, "the word that is given is kept for this write"
    forks.replays_exactly()
    assert paid.read_text() == "x"
    doubted = forks.fork("plan#1", *allowed, "--settle", "done", status=3)
    option = doubted["doubted"]["next_command"].partition("--settle done ")[2]
    assert option in doubted["message"], "what it gave must be said"
    done = forks.fork("plan#1", *allowed, "--settle", "done", *option.replace("'{…}'", '"so"').split())
    assert "got so\nthen 0.002\n" in done["printed"]
    assert paid.read_text() == "x"
    again = forks.fork("plan#1", *allowed, "--settle", "retry")
    assert "got paid\nthen 0.002\n" in again["printed"]
    assert paid.read_text() == "xx"
    forks.replays_exactly()
    known = forks.fork("plan#1", *allowed)
    assert "got paid\n" in known["printed"], "what came of it is known now"
    assert paid.read_text() == "xx"


def test_a_plan_names_the_calls_without_a_recorded_answer(forks: Forks) -> None:
    def plan(*options: str) -> list[str]:
        told = forks.desk.run("fork", f"{forks.parent}:plan#1", *options, "--dry-run").stdout
        return [line.strip() for line in told.splitlines() if "has no answer" in line or "pay" in line]

    made, stopped = (f"; if the fork waits for it, {follows}" for follows in ("it is made", "the fork stops"))
    forks.record(TOOLS)
    assert plan() == [f"has no answer   look (2 recorded){made}"]
    assert plan("--live", "none") == [f"has no answer   look (2 recorded){stopped}"]
    forks.record(TOOLS.replace("tool = look", "tool = pay"))
    assert f"has no answer   pay (1 recorded){stopped}" in plan()
    assert f"has no answer   pay (1 recorded){stopped}" in plan("--allow-write", "pay")
    assert "allowed write" not in " ".join(plan("--allow-write", "pay"))
    assert f"has no answer   pay (1 recorded){made}" in plan("--allow-write", "pay", "--settle", "retry")


LEFT = """
    import threading, time, reenact
    @reenact.tool(effect="read")
    def look(query):
        time.sleep(query)
        return query
    @reenact.tool(effect="read")
    def short(query):
        return query
    found = []
    thread = threading.Thread(target=lambda: found.append(look(0.6)), daemon=True)
    thread.start()
    time.sleep(0.02)
    short(1)
    with reenact.step("plan", {"limit": 0.05}) as state:
        pass
    thread.join(state["limit"])
    print(found)
"""


def test_a_tool_in_a_thread_that_the_end_left_behind_is_asked_where_the_fork_waits_longer(forks: Forks) -> None:
    assert forks.record(LEFT) == "[]\n"
    report = forks.fork("plan#1", "--set", "limit=30")
    assert (report["live"], report["printed"]) == (1, "[0.6]\n")
    forks.replays_exactly()


HTTP = read_program("forks/cancelled_request.py")


@pytest.mark.parametrize("client", ["httpx", "aiohttp"])
def test_a_request(forks: Forks, client: str) -> None:
    with counting() as world:
        forks.desk.environ = {"WORLD_URL": world.url}
        assert forks.record(HTTP.replace('import_module("httpx")', f'import_module("{client}")')) == "cancelled\n"
        assert [event.name.partition(" ")[0] for event in forks.events()] == ["plan", "GET"]
        report = forks.fork("plan#1", *SOONER)
        assert report["printed"] == 'got {"asked": "/slow"}\n'
        assert report["live"] == 1
    forks.replays_exactly()


def test_a_request_to_an_mcp_server_starts_it(forks: Forks) -> None:
    reads = "@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))\nasync def fails"
    slow = f"""@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
async def slow() -> str:
    mark("slow")
    while __import__("os").path.exists("hold"):
        await asyncio.sleep(0.01)
    return "done"


{reads}"""
    (forks.desk.folder / "server.py").write_text(SERVER.replace(reads, slow))
    hold = forks.desk.folder / "hold"
    hold.touch()
    printed = forks.record(
        """
        import asyncio, os, sys, reenact
        from mcp import ClientSession, StdioServerParameters, stdio_client
        SERVER = StdioServerParameters(command=sys.executable, args=["server.py"])
        async def main():
            async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                await session.list_tools()
                with reenact.step("plan", {"cancels": True}) as state:
                    pass
                task = asyncio.create_task(session.call_tool("slow", {}))
                await asyncio.sleep(0.05)
                if state["cancels"]:
                    task.cancel()
                try:
                    print("got", (await task).content[0].text)
                except asyncio.CancelledError:
                    print("cancelled")
        asyncio.run(main())
        """
    )
    assert printed == "cancelled\n"
    hold.unlink()
    report = forks.fork("plan#1", *SOONER)
    assert report["printed"] == "got done\n"
    assert (forks.desk.folder / "marks").read_text().split() == ["start", "slow", "start", "slow"]
    forks.replays_exactly()


LATER = """
    import asyncio, reenact
    @reenact.tool
    async def send(text):
        await asyncio.sleep(0.5)
        return text
    async def main():
        with reenact.step("plan", {"limit": 0.1}) as state:
            pass
        try:
            print(await asyncio.wait_for(send("x"), state["limit"]))
        except TimeoutError:
            print("timed out")
    asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ((), 5, "send may change the world, and is not allowed to"),
        (("--allow-write", "send"), 3, "send may have changed the world already"),
        (("--live", "none"), 5, "send may change the world, and is not allowed to"),
    ],
)
def test_a_longer_time_out_does_not_pass_for_one_that_was_over(
    forks: Forks, options: tuple[str, ...], status: int, said: str
) -> None:
    """Whether the call would have ended within it is not known where it may not be asked."""
    assert forks.record(LATER) == "timed out\n"
    report = forks.fork("plan#1", "--set", "limit=5", *options, status=status)
    assert said in report["message"], report
    assert "timed out" not in report["printed"]
