"""A shell whose pipes are read by their descriptors, with select and a selector."""

import os
import select
import selectors
import subprocess

shell = subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
fd = shell.stdout.fileno()
os.set_blocking(fd, False)
try:
    print(os.read(fd, 100))
except BlockingIOError as error:
    print("nothing yet", error.errno)
print(select.select([shell.stdout, shell.stderr], [], [], 0.01))
os.write(shell.stdin.fileno(), b"sh helper.sh; echo out; echo err >&2\n")
got = {shell.stdout: b"", shell.stderr: b""}
while not all(got.values()):
    for ready in select.select(list(got), [], [], 5)[0]:
        got[ready] += os.read(ready.fileno(), 1000)
print(list(got.values()))
shell.stdin.write(b"echo more; exit 3\n")
shell.stdin.flush()
chooser = selectors.DefaultSelector()
chooser.register(shell.stdout, selectors.EVENT_READ, "out")
text = b""
while not text.endswith(b"more\n"):
    for key, mask in chooser.select(5):
        text += os.read(key.fd, 1000)
        print(key.data, mask)
chooser.close()
print(text, shell.wait())
