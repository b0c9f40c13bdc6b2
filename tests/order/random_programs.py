"""Random concurrent programs: threads, pools, tasks, queues, deadlines and mixtures of them, all from one number.

The shape of a program (which strands, which steps, how much work) is drawn before it runs, so that every run has the
same one. What it says depends on the order in which its strands go on, and is what it returns.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import queue
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from typing import Any

from .driver import World

Step = tuple[str, int]
"""What is done, and how much of it."""
Script = tuple[Step, ...]
"""What one strand does."""

_DATA = json.dumps([{"number": number, "text": "x" * 40} for number in range(200)])
_BLOCK = b"x" * 100_000


@dataclass(frozen=True)
class Scene:
    """One part of a program.

    Attributes:
        kind: The name of the function that plays it.
        scripts: What each of its strands does.
        size: Workers of a pool, or what else has a size.
    """

    kind: str
    scripts: tuple[Script, ...]
    size: int


def make(seed: int) -> Callable[[World], list[Any]]:
    """The program of a number."""
    chance = random.Random(seed)
    kinds = [*IN_THREADS, *IN_TASKS]
    scenes = [_scene(chance, chance.choice(kinds)) for _ in range(chance.randint(1, 3))]
    return partial(_play, scenes)


def _scene(chance: random.Random, kind: str) -> Scene:
    scripts = tuple(_script(chance) for _ in range(chance.randint(2, 7)))
    return Scene(kind, scripts, chance.randint(1, 4))


def _script(chance: random.Random) -> Script:
    kinds = ("ask", "ask", "say", "say", "parse", "hash", "pause")
    return tuple((chance.choice(kinds), chance.randint(1, 6)) for _ in range(chance.randint(1, 6)))


def _play(scenes: list[Scene], world: World) -> list[Any]:
    for scene in scenes:
        if scene.kind in IN_TASKS:
            asyncio.run(IN_TASKS[scene.kind](scene, world))
        else:
            IN_THREADS[scene.kind](scene, world)
        world.did("scene", len(world.said))
    return [list(each) for each in world.said]


# --- what a strand does --------------------------------------------------------------------------------------------


def _compute(kind: str, much: int) -> None:
    """Work with the interpreter's lock, or without it: about half a millisecond each."""
    for _ in range(much * 2):
        if kind == "parse":
            json.loads(_DATA)
        else:
            hashlib.sha256(_BLOCK).digest()


def _act(name: str, script: Script, world: World) -> int:
    """A strand of threads; gives how much has been said by its end."""
    for number, (kind, much) in enumerate(script):
        if kind == "ask":
            world.did(name, number, world.ask(f"{name}/{number}"), len(world.said))
        elif kind == "say":
            world.did(name, number, len(world.said))
        elif kind == "pause":
            threading.Event().wait(world.pause())
        else:
            _compute(kind, much)
    return len(world.said)


async def _aact(name: str, script: Script, world: World) -> int:
    """A strand of tasks."""
    for number, (kind, much) in enumerate(script):
        if kind == "ask":
            world.did(name, number, await world.aask(f"{name}/{number}"), len(world.said))
        elif kind == "say":
            world.did(name, number, len(world.said))
        elif kind == "pause":
            await asyncio.sleep(world.pause())
        else:
            _compute(kind, much)
    return len(world.said)


def _named(scene: Scene) -> list[tuple[str, Script]]:
    return [(f"{scene.kind}{number}", script) for number, script in enumerate(scene.scripts)]


# --- scenes of threads ---------------------------------------------------------------------------------------------


def _threads(scene: Scene, world: World) -> None:
    threads = [threading.Thread(target=_act, args=(*named, world)) for named in _named(scene)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _pool(scene: Scene, world: World) -> None:
    with ThreadPoolExecutor(scene.size) as pool:
        futures = [pool.submit(_act, *named, world) for named in _named(scene)]
        for future in as_completed(futures):
            world.did("done", futures.index(future), future.result())


def _map(scene: Scene, world: World) -> None:
    with ThreadPoolExecutor(scene.size) as pool:
        world.did("map", list(pool.map(lambda named: _act(named[0], named[1], world), _named(scene))))


def _queue(scene: Scene, world: World) -> None:
    items: queue.Queue[tuple[str, Script] | None] = queue.Queue(scene.size)

    def consume(worker: int) -> None:
        while (item := items.get()) is not None:
            world.did("worker", worker, item[0], _act(*item, world))

    workers = [threading.Thread(target=consume, args=(number,)) for number in range(scene.size + 1)]
    for worker in workers:
        worker.start()
    for item in (*_named(scene), *[None] * len(workers)):
        items.put(item)
    for worker in workers:
        worker.join()


def _ledger(scene: Scene, world: World) -> None:
    """Strands that take turns with a lock, and one that waits until enough has been said."""
    enough = threading.Condition()
    done: list[int] = []

    def work(name: str, script: Script) -> None:
        found = _act(name, script, world)
        with enough:
            done.append(found)
            enough.notify_all()

    threads = [threading.Thread(target=work, args=named) for named in _named(scene)]
    for thread in threads:
        thread.start()
    with enough:
        enough.wait_for(lambda: len(done) >= len(threads) - 1)
        world.did("enough", list(done))
    for thread in threads:
        thread.join()


def _loops(scene: Scene, world: World) -> None:
    """A loop of its own in each of some threads."""

    def own(name: str, script: Script) -> None:
        world.did(name, asyncio.run(_aact(name, script, world)))

    threads = [threading.Thread(target=own, args=named) for named in _named(scene)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# --- scenes of tasks -----------------------------------------------------------------------------------------------


async def _gather(scene: Scene, world: World) -> None:
    world.did("gather", await asyncio.gather(*(_aact(*named, world) for named in _named(scene))))


async def _first(scene: Scene, world: World) -> None:
    """The first to finish, then the others; one is called off."""
    tasks = [asyncio.create_task(_aact(*named, world)) for named in _named(scene)]
    done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    world.did("first", sorted(tasks.index(task) for task in done))
    last = [task for task in tasks if task in left]
    if last:
        last.pop().cancel()
    for task in asyncio.as_completed(last):
        world.did("next", await task)


async def _deadline(scene: Scene, world: World) -> None:
    for named in _named(scene):
        try:
            world.did("in time", await asyncio.wait_for(_aact(*named, world), 0.004 * scene.size))
        except TimeoutError:
            world.did("late", named[0])


async def _to_thread(scene: Scene, world: World) -> None:
    """Every second strand runs in a thread."""
    strands: list[Any] = []
    for number, named in enumerate(_named(scene)):
        strands.append(_aact(*named, world) if number % 2 else asyncio.to_thread(_act, *named, world))
    world.did("both", await asyncio.gather(*strands))


async def _workers(scene: Scene, world: World) -> None:
    items: asyncio.Queue[tuple[str, Script]] = asyncio.Queue(scene.size)

    async def work(worker: int) -> None:
        while True:
            item = await items.get()
            world.did("worker", worker, item[0], await _aact(*item, world))
            items.task_done()

    workers = [asyncio.create_task(work(number)) for number in range(scene.size)]
    for named in _named(scene):
        await items.put(named)
    await items.join()
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)


async def _posts(scene: Scene, world: World) -> None:
    """Threads that post what they have found into the loop."""
    loop, found = asyncio.get_running_loop(), asyncio.Queue[int]()

    def finds(name: str, script: Script) -> None:
        number = _act(name, script, world)
        loop.call_soon_threadsafe(found.put_nowait, number)

    threads = [threading.Thread(target=finds, args=named) for named in _named(scene)]
    for thread in threads:
        thread.start()
    for _ in threads:
        world.did("found", await found.get())
    for thread in threads:
        await asyncio.to_thread(thread.join)


async def _few(scene: Scene, world: World) -> None:
    """No more than a few at once."""
    door = asyncio.Semaphore(scene.size)

    async def one(name: str, script: Script) -> None:
        async with door:
            world.did("in", name, await _aact(name, script, world))

    async with asyncio.TaskGroup() as group:
        for named in _named(scene):
            group.create_task(one(*named))


IN_THREADS: dict[str, Callable[[Scene, World], None]] = {
    "threads": _threads,
    "pool": _pool,
    "map": _map,
    "queue": _queue,
    "ledger": _ledger,
    "loops": _loops,
}
IN_TASKS: dict[str, Callable[[Scene, World], Any]] = {
    "gather": _gather,
    "first": _first,
    "deadline": _deadline,
    "to_thread": _to_thread,
    "workers": _workers,
    "posts": _posts,
    "few": _few,
}
