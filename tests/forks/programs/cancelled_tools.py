"""A tool in a tool that times out, and the tool that `tool` names, cancelled if the plan says so."""

import asyncio

import reenact


@reenact.tool(effect="read")
async def inner(query):
    return query


@reenact.tool(effect="read")
async def look(query):
    await asyncio.sleep(query)
    return await inner(query)


@reenact.tool
async def pay(query):
    with open("paid", "a") as file:
        file.write("x")
    await asyncio.sleep(query)
    return "paid"


async def main():
    with reenact.step("plan", {"limit": 0.05, "cancels": True}) as state:
        pass
    try:
        print(await asyncio.wait_for(look(0.3), state["limit"]))
    except TimeoutError:
        print("too slow")
    tool = look
    task = asyncio.create_task(tool(0.2))
    print("meanwhile", await look(0.001))
    if state["cancels"]:
        task.cancel()
    try:
        print("got", await task)
    except asyncio.CancelledError:
        print("cancelled")
    print("then", await look(0.002))


asyncio.run(main())
