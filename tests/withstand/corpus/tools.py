"""Decorated tools of every colour: values, exceptions, generators, changed arguments, and effects."""

import asyncio
import decimal
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import reenact

STATE = Path("sold.txt")
counter = itertools.count(int(STATE.read_text()) if STATE.exists() else 100)


@reenact.tool(effect="read")
def price(item: str) -> decimal.Decimal:
    return decimal.Decimal(next(counter)) / 8 + len(item)


@reenact.tool
def sell(item: str, basket: list[str]) -> int:
    number = next(counter)
    basket.append(f"{item}-{number}")
    STATE.write_text(str(number + 5))
    return number


@reenact.tool(effect="read")
async def rumours(topic: str) -> str:
    await asyncio.sleep(0.001)
    return f"{topic} {next(counter)}"


@reenact.tool(effect="read")
def pages(count: int) -> Iterator[str]:
    for _ in range(count):
        yield f"page {next(counter)}"


@reenact.tool(effect="read")
async def ticks(count: int) -> AsyncIterator[int]:
    for _ in range(count):
        yield next(counter)


@reenact.tool(effect="read")
def broken(text: str) -> str:
    raise ValueError(f"{text} {next(counter)}")


@reenact.tool(effect="none")
def total(values: list[int]) -> int:
    return sum(values)


@reenact.model(name="tiny")
def tiny(prompt: str) -> str:
    return f"{prompt}? {next(counter)}"


async def main() -> None:
    basket: list[str] = []
    print(price("lamp"), sell("lamp", basket), basket)
    print(await asyncio.gather(rumours("rain"), rumours("wind"), rumours("rain")))
    for page in pages(3):
        print(page)
    numbers = [number async for number in ticks(3)]
    print(numbers, total(numbers))
    try:
        broken("jammed")
    except ValueError as error:
        print("failed:", error)
    print(tiny("really"))


asyncio.run(main())
