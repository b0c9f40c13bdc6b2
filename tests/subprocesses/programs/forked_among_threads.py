"""Children that are forked while threads call a tool."""

import os
import threading

import reenact


@reenact.tool(effect="read")
def look(what):
    return what * 2


found = []


def work(n):
    for k in range(20):
        found.append((n, k, look(k)))


threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for thread in threads:
    thread.start()
ended = []
for n in range(3):
    child = os.fork()
    if child == 0:
        try:
            open("marks", "a").write("x\n")
            good = look(n) == n * 2 and threading.active_count() == 1
        finally:
            os._exit(10 + n if good else 1)
    ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for thread in threads:
    thread.join()
print(ended, sorted(found) == [(n, k, k * 2) for n in range(3) for k in range(20)])
