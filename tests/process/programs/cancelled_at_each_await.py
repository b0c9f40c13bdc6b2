"""An agent of many awaits that is cancelled at each of them in turn."""

import asyncio
import os

import httpx

import reenact

URL = os.environ["UPSTREAM"]
AWAITS = 13


@reenact.tool(effect="read")
async def look(what):
    await asyncio.sleep(0.002)
    return what.upper()


class Agent:
    def __init__(self, cancel_at):
        self.cancel_at, self.awaits, self.done, self.cleaned = cancel_at, 0, [], []

    async def at(self, awaitable, name):
        self.awaits += 1
        if self.awaits == self.cancel_at:
            asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)
        try:
            result = await awaitable
        except BaseException as error:
            self.cleaned.append((name, type(error).__name__))
            raise
        self.done.append(name)
        return result

    async def run(self):
        client = httpx.AsyncClient()
        try:
            await self.at(client.get(URL + "/one"), "get")
            await self.at(asyncio.sleep(0.003), "sleep")
            await self.at(look("x"), "tool")
            await self.at(asyncio.gather(client.get(URL + "/two"), look("y"), asyncio.sleep(0.001)), "gather")
            await self.at(asyncio.wait_for(client.get(URL + "/three"), 5), "wait_for")
            await self.at(asyncio.to_thread(httpx.get, URL + "/four"), "thread")
            async with asyncio.timeout(5):
                await self.at(client.get(URL + "/five"), "timeout")
            request = client.build_request("GET", URL + "/stream")
            response = await self.at(client.send(request, stream=True), "stream")
            try:
                async for piece in response.aiter_raw(6):
                    await self.at(asyncio.sleep(0), "piece")
            finally:
                await self.at(response.aclose(), "close")
            async with asyncio.TaskGroup() as group:
                one = group.create_task(client.get(URL + "/six"))
                await self.at(asyncio.sleep(0.001), "group")
            return one.result().json()["path"]
        finally:
            self.cleaned.append("finally")
            await client.aclose()


async def main():
    reached = 0
    for cancel_at in range(AWAITS + 1):
        agent = Agent(cancel_at)
        task = asyncio.create_task(agent.run())
        try:
            ended = await task
        except asyncio.CancelledError:
            ended = "cancelled"
        reached += bool(agent.awaits >= cancel_at > 0)
        print(cancel_at, ended, agent.awaits, agent.done, agent.cleaned, flush=True)
    print("reached", reached, "of", AWAITS)


asyncio.run(main())
