"""Beside a program: a loop that closes the generators left to it in the order of their beginning."""

import asyncio
import os
import weakref


class InOrder(weakref.WeakSet):
    # the order in which a loop closes generators is that of their addresses: for the bare run it is made one
    def __init__(self):
        super().__init__()
        self.order = []

    def add(self, item):
        self.order.append(weakref.ref(item))
        super().add(item)

    def __iter__(self):
        alive = list(super().__iter__())
        return iter([item for each in self.order if (item := each()) is not None and any(item is one for one in alive)])


def run(main):
    async def first():
        if os.environ.get("IN_ORDER"):
            asyncio.get_running_loop()._asyncgens = InOrder()  # type: ignore[attr-defined]
        await main()

    asyncio.run(first())
