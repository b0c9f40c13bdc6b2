"""Looks at some words, and is killed before it looks at others, unless the file ``go`` is there."""

import asyncio
import os
import signal

import reenact

WORDS: list[str] = []


@reenact.tool(effect="read")
def look(what: str) -> str:
    """The word."""
    return what


async def ask() -> None:
    """Look at all words, and at two more."""
    for what in WORDS:
        print(look(what))
    run = reenact.current_run()
    if not os.path.exists("go") and run is not None:
        run.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    look("behind")
    look("another")


async def main() -> None:
    """Ask in a task."""
    await asyncio.create_task(ask(), name="ask")


asyncio.run(main())
