"""Processes of asyncio: gathered, spoken to, timed out, ended, and one that is not there."""

import asyncio


async def one(number, finished):
    line = f"sh helper.sh; sleep 0.0{9 - number}; echo {number}"
    process = await asyncio.create_subprocess_shell(line, stdout=-1)
    text = await process.stdout.read()
    finished.append(number)
    return text, await process.wait(), process.returncode


async def main():
    finished = []
    print(await asyncio.gather(*(one(number, finished) for number in range(10))), finished)
    process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1, stderr=-1)
    process.stdin.write(b"first\nsecond")
    await process.stdin.drain()
    print(await process.stdout.readline(), process.returncode)
    print(await process.communicate(b" and more"), process.returncode)
    process = await asyncio.create_subprocess_exec("sleep", "30")
    try:
        await asyncio.wait_for(process.wait(), 0.05)
    except TimeoutError:
        print("late")
    process.terminate()
    print(await process.wait(), isinstance(process, asyncio.subprocess.Process))
    try:
        await asyncio.create_subprocess_exec("no-such-program")
    except FileNotFoundError as error:
        print(error.filename)


asyncio.run(main())
