"""A recording of trio that begins while another task waits."""

import trio

said = []


async def child(name):
    await trio.sleep(0.001)
    await look(name)  # type: ignore[name-defined]
    said.append(name)


async def bystander():
    await trio.sleep(0.0005)
    await trio.sleep(0.05)
    await trio.to_thread.run_sync(said.append, "c")


async def main():
    import reenact

    global look

    @reenact.tool(effect="read")
    async def look(name):
        await trio.sleep(0.001)
        return name

    store = reenact.open_store("memory:late")
    async with trio.open_nursery() as outer:
        outer.start_soon(bystander)
        async with reenact.record(store=store):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(child, "a")
                nursery.start_soon(child, "b")
    (run,) = store.runs()
    events = list(store.open(run.id).events())
    print(said, [(event.lane, event.position) for event in events if event.call.name == "look"], run.totals.unproven)


trio.run(main)
