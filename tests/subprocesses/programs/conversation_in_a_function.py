"""Talks to a process in a function, whose end closes the process's output before it was read to its end."""

from subprocess import PIPE, Popen


def talk() -> int:
    """Say two things, and hear both."""
    process = Popen(["cat"], stdin=PIPE, stdout=PIPE, text=True, bufsize=1)
    assert process.stdin is not None and process.stdout is not None
    for text in ("one", "two"):
        process.stdin.write(text + "\n")
        print(process.stdout.readline(), end="")
    process.stdin.close()
    return process.wait()


print(talk())
