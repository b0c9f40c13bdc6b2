"""Processes that threads start side by side, and one whose pipes two threads read."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

finished = []


def one(number):
    line = f"sh helper.sh; sleep 0.0{9 - number}; echo {number}"
    text = subprocess.run(["sh", "-c", line], capture_output=True).stdout
    finished.append(number)
    return text


with ThreadPoolExecutor(10) as pool:
    print(list(pool.map(one, range(10))), finished)
process = subprocess.Popen(["sh", "-c", "echo a; echo b >&2"], stdout=-1, stderr=-1)
seen = {}
readers = [
    threading.Thread(target=lambda n=n, s=s: seen.setdefault(n, s.read()))
    for n, s in (("out", process.stdout), ("err", process.stderr))
]
[reader.start() for reader in readers]
[reader.join() for reader in readers]
print(sorted(seen.items()), process.wait())
