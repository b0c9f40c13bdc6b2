"""Processes of asyncio that are started before a plan and spoken to after it."""

import asyncio
import os
from asyncio.subprocess import PIPE

import reenact


async def main():
    os.environ["WORD"] = "when it was asked for"
    script = 'echo "$WORD"; . ./helper.sh; cat'
    process = await asyncio.create_subprocess_exec("sh", "-c", script, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    shout = await asyncio.create_subprocess_shell("tr a-z A-Z", stdin=PIPE, stdout=PIPE, stderr=PIPE)
    os.environ["WORD"] = "when it was started"
    pid = process.pid
    with reenact.step("plan", {"text": "first"}) as state:
        pass
    process.stdin.write(state["text"].encode() + b"\n")
    print(await process.stdout.readline(), await process.stdout.readline(), process.pid == pid, process.returncode)
    process.stdin.close()
    print(await process.wait(), process.returncode)
    print(await shout.communicate(state["text"].encode()))


asyncio.run(main())
