"""A fork of one's own, and one at a pseudo-terminal that becomes a shell."""

import os
import pty

pid = os.fork()
if not pid:
    os.system("sh helper.sh")
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
pid, master = pty.fork()
if not pid:
    os.execvp("sh", ["sh", "-c", "sh helper.sh; read x; echo got $x"])
os.write(master, b"hello\n")
text = b""
while True:
    try:
        part = os.read(master, 1000)
    except OSError:
        break
    if not part:
        break
    text += part
print(sorted(text.split()), os.waitpid(pid, 0)[1])
