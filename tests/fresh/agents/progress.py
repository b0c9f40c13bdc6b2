"""A progress bar with carriage returns, binary output, a table as wide as it likes, warnings (requests)."""

import os
import shutil
import sys
import time
import warnings

import requests

WORLD = os.environ["WORLD_URL"]
total = 12
for number in range(total + 1):
    bar = "█" * number + "·" * (total - number)
    print(f"\r{bar} {number / total:4.0%}", end="", flush=True, file=sys.stderr)
    requests.get(f"{WORLD}/tools/part", params={"n": number}, timeout=5)
    time.sleep(0.001)
print(file=sys.stderr)
blob = requests.get(f"{WORLD}/tools/blob?size=300", timeout=5).content
sys.stdout.flush()
sys.stdout.buffer.write(b"\x00\xff" + blob + b"\n")
sys.stdout.buffer.flush()
os.write(1, b"straight to the descriptor\n")
warnings.warn("this is old", DeprecationWarning, stacklevel=1)
print("wide " * 80, shutil.get_terminal_size().columns > 0, "ünïcödé ☃ 𝄞")
print("end of", "stderr", file=sys.stderr, end="")
