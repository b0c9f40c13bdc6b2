"""httpx on trio, through anyio: a nursery of three and a deadline."""

import os

import anyio
import httpx

WORLD = os.environ["WORLD_URL"]
values: list[str] = []


async def fetch(client: httpx.AsyncClient, number: int) -> None:
    reply = await client.get(f"{WORLD}/tools/lookup", params={"n": number})
    values.append(f"{number} {reply.json()['value']}")


async def main() -> None:
    async with httpx.AsyncClient() as client, anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(fetch, client, number)
    print("\n".join(values))


anyio.run(main, backend="trio")
