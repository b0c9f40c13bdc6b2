"""Threads and a pool that are at work when the program ends, and what is done at its exit."""

import atexit
import threading
from concurrent.futures import ThreadPoolExecutor

import reenact
from reenact.seams.gate import Gate

helped = []
pump = Gate.pump


def counted(self, *, settled=True, once=False):
    released = pump(self, settled=settled, once=once)
    if once and released:
        helped.append(settled)
    return released


Gate.pump = counted


@reenact.tool(effect="read")
def look(query):
    return query


def work(name):
    for n in range(100):
        look(f"{name} {n}")


atexit.register(lambda: open("helped.txt", "w").write(str(len(helped))))
atexit.register(lambda: look("at the end"))
for name in "abc":
    threading.Thread(target=work, args=(name,)).start()
pool = ThreadPoolExecutor(2)
for name in "xyz":
    pool.submit(work, name)
