"""Processes that are started before a plan and spoken to after it, elsewhere and with another environment."""

import os
import select
import subprocess
from subprocess import PIPE, Popen

import reenact

os.environ["WORD"] = "when it was asked for"
os.mkdir("elsewhere") if not os.path.exists("elsewhere") else None
script = 'echo "$WORD $(basename "$PWD")"; . ./helper.sh; cat'
process = Popen(["sh", "-c", script], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, bufsize=1)
silent = Popen(["sleep", "60"], stdin=PIPE, stdout=subprocess.DEVNULL, stderr=PIPE)
bare = Popen(["cat"], stdin=PIPE, stdout=PIPE, stderr=PIPE)
into, out = bare.stdin.fileno(), bare.stdout.fileno()
pid = process.pid
with reenact.step("plan", {"text": "first"}) as state:
    os.environ["WORD"] = "when it was started"
    os.chdir("elsewhere")
process.stdin.write(state["text"] + "\n")
print(process.stdout.readline(), process.stdout.readline(), process.poll(), process.pid == pid)
process.stdin.close()
print(process.wait(), process.stderr.read())
shouted = subprocess.run(["tr", "a-z", "A-Z"], input=state["text"], text=True, capture_output=True)
print(shouted.stdout, shouted.returncode)
os.write(into, state["text"].encode())
select.select([out], [], [])
print(os.read(out, 100))
bare.stdin.close()
print(bare.wait())
os.kill(silent.pid, 15 if state["text"] == "second" else 9)
print(silent.wait())
