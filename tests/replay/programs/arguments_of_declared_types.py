"""Recorded functions whose arguments are of declared types: given, named, further, inside others."""

from dataclasses import dataclass, field
from enum import Enum

import reenact


class Haste(Enum):
    SLOW = 1
    FAST = 2


@dataclass
class Task:
    order: str
    haste: Haste = Haste.SLOW
    tags: list[str] = field(default_factory=list)


class Gone(Exception):
    pass


@reenact.tool(effect="read")
def find(order: str) -> Task:
    if order == "0":
        raise Gone(order)
    return Task(order)


def done(*tasks):
    assert all(type(each) is Task and type(each.haste) is Haste for each in tasks), tasks
    try:
        find("0")
    except Gone:
        return [find(each.order) for each in tasks]


@reenact.record
def placed(task: Task):
    return done(task)


@reenact.record
def named(*, task: "Task | None" = None):
    return done(task)


@reenact.record
def further(first: str, *tasks: Task, **others: Task):
    return done(*tasks, *others.values())


@reenact.record
def inside(batches: dict[str, list[Task]]):
    return done(*batches["new"])


@reenact.record
async def later(task: Task):
    return done(task)


@reenact.record
def undeclared(task):
    return done(task)


if __name__ == "__main__":
    placed(Task("1"))
