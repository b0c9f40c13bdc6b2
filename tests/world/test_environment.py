"""Proves that variables that a program reads are recorded and supplied again, credentials and all others left out."""

from __future__ import annotations

import sys

import pytest

from .conftest import Place

READS = """
import os
print(os.environ["TIER"], os.getenv("TIER"), os.environ.get("NOT_SET"), os.getenv("NOT_SET", "else"))
print("TIER" in os.environ)
print(os.path.expandvars("$TIER-$NOT_SET"), os.environb[b"TIER"] if hasattr(os, "environb") else b"gold")
try:
    os.environ["NOT_SET"]
except KeyError as error:
    print(error)
os.environ["TIER"] = "set here"
print(os.environ["TIER"], os.environ.pop("TIER"), "TIER" in os.environ)
"""


def test_reads_are_answered_with_what_they_gave_then(world: Place) -> None:
    recorded = world.record(READS, TIER="gold")
    assert recorded.stdout.startswith(
        "gold gold None else\nTrue\ngold-$NOT_SET b'gold'\n'NOT_SET'\nset here set here False"
    )
    world.exact(recorded)
    world.exact(recorded, TIER="silver")


def test_a_variable_that_was_not_set_may_be_set_to_try_something_and_is_named(world: Place) -> None:
    world.record('import os\nprint(os.environ.get("VERSION_OF_PARSER", "v1"))\n')
    replayed = world.replay(VERSION_OF_PARSER="v2")
    assert (replayed.returncode, replayed.stdout) == (1, "v2\n")
    assert (
        "the variable VERSION_OF_PARSER, which was not set when it was recorded, is used as it is now"
        in replayed.stderr
    )


def test_reads_of_libraries_and_of_strands_count_too(world: Place) -> None:
    world.write("import os\ndef mode():\n    return os.environ.get('AGENT_FLAVOUR', 'plain')\n", "site-packages/lib.py")
    recorded = world.record(
        """
        import asyncio, os, sys, threading
        sys.path.insert(0, "site-packages")
        import lib
        async def ask(n):
            await asyncio.sleep(0)
            return n, os.environ["AGENT_FLAVOUR"]
        async def main():
            print(await asyncio.gather(*[ask(n) for n in range(3)]))
        asyncio.run(main())
        thread = threading.Thread(target=lambda: print(lib.mode()))
        thread.start()
        thread.join()
        print(asyncio.run(asyncio.to_thread(os.getenv, "AGENT_FLAVOUR")))
        """,
        AGENT_FLAVOUR="sweet",
    )
    assert recorded.stdout == "[(0, 'sweet'), (1, 'sweet'), (2, 'sweet')]\nsweet\nsweet\n"
    world.exact(recorded, AGENT_FLAVOUR="sour")


def test_a_read_that_is_new_sees_the_world_of_today_and_disturbs_nothing(world: Place) -> None:
    world.record('import os\nprint(os.environ["TIER"])\n', TIER="gold")
    world.write('import os\nos.environ.get("OTHER")\nprint(os.environ["TIER"])\n')
    assert world.replay(TIER="silver", OTHER="x").stdout == "gold\n"


SECRET = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"


@pytest.mark.parametrize("name", ["SHOP_API_KEY", "HARMLESS"])
def test_no_credential_is_stored(world: Place, name: str) -> None:
    world.record(f'import os\nprint(len(os.environ["{name}"]) > 5)\n', **{name: SECRET})
    kept = world.kept()
    assert kept and SECRET.encode() not in kept
    replayed = world.replay()
    assert (replayed.returncode, replayed.stdout) == (0, "True\n"), replayed.stderr


def test_what_nobody_asked_for_is_not_kept(world: Place) -> None:
    recorded = world.record(
        """
        import os
        everything = {**os.environ}, dict(os.environ), os.environ.copy(), list(os.environ.items())
        print(sorted(set(map(len, everything)))[0] > 0, os.environ["TIER"])
        """,
        TIER="gold",
        PRIVATE_DIARY="dear diary, today",
    )
    kept = world.kept()
    assert b"dear diary" not in kept
    world.exact(recorded, TIER="silver")


def test_the_kit_says_which_were_read(world: Place) -> None:
    world.record('import os\nos.environ["TIER"]\nos.getenv("NOT_SET")\n', TIER="gold")
    assert "2 were read: NOT_SET, TIER" in world.kit()


def test_a_recorded_block_keeps_them(world: Place) -> None:
    world.write(
        """
        import os
        import reenact
        @reenact.record
        def main():
            return os.environ["TIER"]
        if __name__ == "__main__":
            print(main(), os.environ["TIER"])
        """
    )
    assert world.run(sys.executable, "agent.py", TIER="gold").stdout == "gold gold\n"
    replayed = world.replay(TIER="silver")
    assert replayed.returncode == 0, replayed.stderr
