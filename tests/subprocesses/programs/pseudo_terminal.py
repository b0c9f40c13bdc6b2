"""A shell at a pseudo-terminal."""

import os
import pty
import select
import subprocess

master, slave = pty.openpty()
line = "tty >/dev/null && echo terminal; sh helper.sh; read x; echo got $x"
process = subprocess.Popen(["sh", "-c", line], stdin=slave, stdout=slave, stderr=slave, close_fds=True)
os.close(slave)
os.write(master, b"hello\n")
text = b""
while True:
    if select.select([master], [], [], 5)[0]:
        try:
            part = os.read(master, 1000)
        except OSError as error:
            print(error.errno)
            break
        if not part:
            break
        text += part
os.close(master)
print(sorted(text.split()), process.wait())
