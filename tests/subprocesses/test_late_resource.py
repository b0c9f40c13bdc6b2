"""A resource that goes live late is begun once, whoever comes first, and is in the agent's hands before it is used."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from reenact.errors import UnreplayableRun
from reenact.seams.colours import in_coroutine, in_thread
from reenact.seams.late_resource import LateResource

PATIENCE_S = 30


class Crossing:
    """The call by which the resource was begun in the recording."""

    may_begin = False

    def can_begin(self) -> None:
        self.may_begin = True


def late(begin: Callable[[], Any], adopt: Callable[[Any], object], lock: Any = None) -> LateResource:
    crossing: Any = Crossing()
    resource = LateResource(crossing, "it was to be begun", begin, adopt, missing="it", cause="it is gone", lock=lock)
    assert crossing.may_begin and resource.real is None, "nothing is begun before it is used"
    return resource


def test_two_threads_begin_it_once_and_find_it_adopted() -> None:
    begins: list[int] = []
    adopted: list[str] = []
    seen: list[tuple[str | None, list[str]]] = []
    inside, again, go_on = threading.Event(), threading.Event(), threading.Event()

    def begin() -> str:
        begins.append(threading.get_ident())
        (again if inside.is_set() else inside).set()
        assert go_on.wait(PATIENCE_S)
        return "live"

    resource = late(begin, adopted.append)

    def uses() -> None:
        in_thread(resource.begin())
        seen.append((resource.real, list(adopted)))

    threads = [threading.Thread(target=uses) for _ in range(2)]
    threads[0].start()
    assert inside.wait(PATIENCE_S)
    threads[1].start()
    again.wait(0.3)  # it comes to nothing; without the lock it would be begun meanwhile
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(begins) == 1, "the second waits for the first"
    assert seen == [("live", ["live"])] * 2, "both go on with what was adopted once"


def test_two_tasks_begin_it_once() -> None:
    begins: list[int] = []
    adopted: list[str] = []

    async def begin() -> str:
        begins.append(1)
        for _ in range(3):
            await asyncio.sleep(0)
        return "live"

    async def main() -> None:
        resource = late(begin, adopted.append, asyncio.Lock())
        await asyncio.gather(*(in_coroutine(resource.begin()) for _ in range(3)))
        assert resource.real == "live"

    asyncio.run(main())
    assert (len(begins), adopted) == (1, ["live"])


def test_what_cannot_be_begun_says_so_to_each_and_is_not_adopted() -> None:
    begins: list[int] = []
    adopted: list[str] = []

    def begin() -> Any:
        begins.append(1)
        raise FileNotFoundError("no program")

    resource = late(begin, adopted.append)
    for _ in range(2):
        with pytest.raises(UnreplayableRun, match="was not: FileNotFoundError: no program"):
            in_thread(resource.begin())
    assert (len(begins), adopted, resource.real) == (2, [], None)
    assert not cast(Any, resource)._lock.locked()
