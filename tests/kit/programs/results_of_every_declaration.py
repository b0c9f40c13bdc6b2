"""Tools that declare their results, or do not, or promise another type."""

import asyncio
import dataclasses
import sys
import typing

import reenact


@dataclasses.dataclass
class Found:
    name: str


class Handle:
    pass


@reenact.tool(effect="read")
def bare(q):
    return Found(q)


@reenact.tool(effect="read")
def many(q) -> list:
    return [Found(q), Found(q)]


@reenact.tool(effect="read")
def anything(q) -> typing.Any:
    return {"found": Found(q)}


@reenact.tool(effect="read")
def declared(q) -> Found:
    return Found(q)


@reenact.tool(effect="read")
def listed(q) -> list[Found]:
    return [Found(q)]


@reenact.tool(effect="read")
def around(q):
    return bare(q).name


@reenact.tool(effect="read")
def odd(q):
    return Handle()


@reenact.tool(effect="read")
def items(q):
    yield Found(q)


@reenact.tool(effect="read")
async def later(q) -> typing.AsyncIterator:
    yield Found(q)


@reenact.tool(effect="read")
def told(q) -> typing.Iterator[Found]:
    yield Found(q)


@reenact.tool(effect="read")
def handles(q):
    yield Handle()


async def every(found):
    return [each async for each in found]


found = globals()[sys.argv[1]]("a")
if hasattr(found, "__aiter__"):
    found = asyncio.run(every(found))
elif hasattr(found, "__next__"):
    found = list(found)
print(type(found).__name__)
