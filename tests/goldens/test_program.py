"""A program that is run in the interpreter's place ends as it does in its hands: with the same words and status.

Each is run twice by real interpreters, as a script and as a module; in one of them ``seams.boot.program`` takes over.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no warm interpreters on this system")

BOOT = """
from reenact.seams.boot import program
program.take_over(lambda: open("by itself", "w").close())
"""
PROGRAMS: dict[str, str | bytes] = {
    "says": "import sys\nprint('hello', sys.argv, __name__, sys.path[0] == sys.argv[-1])",
    "names": "print(sorted(globals()), __file__, __cached__, __loader__.name, __spec__ and __spec__.name, __package__)",
    "loader": "print(type(__loader__).__name__, __loader__.get_source('__main__').count('loader'), __builtins__)",
    "exit": "import sys; sys.exit(7)",
    "exit none": "import sys; sys.exit()",
    "exit text": "import sys; sys.exit('so be it')",
    "exit bytes": "raise SystemExit(b'x')",
    "exit false": "raise SystemExit(False)",
    "exit large": "raise SystemExit(2 ** 70)",
    "exit negative": "raise SystemExit(-3)",
    "exit wide": "raise SystemExit(256 + 9)",
    "exit two": "raise SystemExit(1, 2)",
    "exit odd": "class Odd:\n    def __str__(self): raise ValueError\nraise SystemExit(Odd())",
    "exit below": "class Own(SystemExit):\n    code = 5\nraise Own(3)",
    "raises": "def f(n):\n    return 1 / n\n\nf(0)",
    "chained": "try:\n    {}['x']\nexcept KeyError as error:\n    raise ValueError('bad') from error",
    "group": "raise ExceptionGroup('several', [ValueError(1), KeyError('k')])",
    "noted": "error = ValueError('bad')\nerror.add_note('mind this')\nraise error",
    "interrupted": "raise KeyboardInterrupt",
    "interrupted below": "class Own(KeyboardInterrupt): pass\nraise Own",
    "generator exit": "raise GeneratorExit('now')",
    "recursion": "def f():\n    f()\ntry:\n    f()\nexcept RecursionError as error:\n    print(error)",
    "cannot be read": "print('a')\nx = = 1",
    "bad string": "print('é",
    "null": "print('a\0b')",
    "latin": b"# -*- coding: latin-1 -*-\nprint('\xe9')",
    "marked": b"\xef\xbb\xbfprint('marked')",
    "wrong bytes": b"print('\xe9')",
    "wrong cookie": "# coding: nothing-like-it\n",
    "warns": "print('\\d')",
    "empty": "",
    "windows": b"print('a')\r\nprint('b')\r\n",
    "future": "from __future__ import annotations\ndef f(x: Nothing): pass\nprint(f.__annotations__)",
    "hook": "import sys\nsys.excepthook = lambda *a: print(a[0].__name__, a[2].tb_lineno, sys.exc_info())\n1 / 0",
    "hook raises": "import sys\ndef hook(*a):\n    raise KeyError('hook')\nsys.excepthook = hook\n1 / 0",
    "hook exits": "import sys\ndef hook(*a):\n    sys.exit(4)\nsys.excepthook = hook\n1 / 0",
    "hook gone": "import sys\ndel sys.excepthook\n1 / 0",
    "last": (
        "import atexit, sys\ndef tell():\n    print(sys.last_value, sys.last_type, sys.last_traceback.tb_lineno)\n"
        "atexit.register(tell)\n1 / 0"
    ),
    "handlers": "import atexit\natexit.register(print, 'first')\natexit.register(print, 'last')",
    "handler raises": (
        "import atexit\ndef bad():\n    raise ValueError('handler')\natexit.register(print, 'on')\natexit.register(bad)"
    ),
    "handler reads": "import atexit\natexit.register(lambda: print(sorted({'__file__', '__cached__'} & {*globals()})))",
    "handler reads after exit": (
        "import atexit\natexit.register(lambda: print('__file__' in globals()))\nraise SystemExit(3)"
    ),
    "finalized": "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'finalized')",
    "threads": (
        "import atexit, threading\natexit.register(print, 'handler')\ngo = threading.Event()\n"
        "def f():\n    go.wait()\n    print('thread', threading.main_thread().is_alive())\n"
        "threading.Thread(target=f).start()\nthreading._register_atexit(go.set)"
    ),
    "daemon": "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\nprint('main')",
    "pool": (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
        "pool.submit(print, 'in the pool')"
    ),
    "traced": (
        "import sys\nseen = []\ndef f():\n    return 1\n"
        "sys.settrace(lambda *a: seen.append(a[1]))\nf()\nsys.settrace(None)\nprint(seen)"
    ),
    "profiled": (
        "import sys\nseen = []\ndef f():\n    return 1\n"
        "sys.setprofile(lambda *a: seen.append(a[1]))\nf()\nsys.setprofile(None)\nprint(seen[:2])"
    ),
    "imports itself": "import sys\nprint(sys.modules['__main__'].__dict__ is globals())",
    "pickles": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__module__)",
    "inspects": "import inspect\ndef f(): pass\nprint(inspect.getsource(f), inspect.getsourcefile(f) == __file__)",
    "closed": "import sys\nsys.stdout.close()",
    "gone": "import sys\nsys.stdout = sys.stderr = None",
    "unflushable": "import os, sys\nprint('lost')\nos.close(1)",
    "forks": "import os, sys\nif os.fork() == 0:\n    sys.exit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
    "printed low": "import ctypes, sys\nsys.stdout.flush()\nctypes.CDLL(None).printf(b'from C\\n')",
    "printed low at the end": (
        "import atexit, ctypes\natexit.register(ctypes.CDLL(None).printf, b'from C\\n')\nprint('one')"
    ),
    "written below": "import io, sys\nsys.__stdout__.write('under')\nsys.stdout = io.StringIO()",
    "flush raises": (
        "import sys\nclass Odd:\n    closed = False\n    def write(self, text): pass\n"
        "    def flush(self): raise ValueError('no')\nsys.stdout = Odd()"
    ),
}


LEAVES = {
    "text": "left = open('left', 'w')\nleft.write('some')",
    "bytes": "left = open('left', 'wb')\nleft.write(b'some')",
    "read and written": "left = open('left', 'wb+')\nleft.write(b'some')",
    "of a class of its own": (
        "import io\nclass Own(io.TextIOWrapper): pass\nleft = Own(open('left', 'wb'))\nleft.write('some')"
    ),
    "of C": (
        "import ctypes\nlibrary = ctypes.CDLL(None)\nlibrary.fopen.restype = ctypes.c_void_p\n"
        "library.fputs(b'some', ctypes.c_void_p(library.fopen(b'left', b'w')))"
    ),
    "a log": "import logging\nlogging.basicConfig(filename='left')\nlogging.warning('some')",
}
"""Programs that end with a file open that they have written to."""


UNREADABLE = {"cannot be read", "bad string", "null", "wrong bytes", "wrong cookie"}
"""Scripts that are left to the interpreter."""
GARBLED = {"exit large", "exit odd"} if sys.version_info >= (3, 13) else set()
"""Ends at which the interpreter complains of an exception that it has forgotten itself."""
MODULES = (
    *(
        "says",
        "names",
        "exit",
        "exit none",
        "exit text",
        "raises",
        "group",
        "interrupted",
        "interrupted below",
        "cannot be read",
        "hook",
    ),
    *("hook exits", "handlers", "handler reads", "threads", "traced", "unflushable", "forks"),
)


def started(folder: Path, words: list[str], boot: str) -> subprocess.Popen[bytes]:
    """An interpreter on its way; ``boot`` runs before its program."""
    place = folder / f"boot{len(boot)}"
    place.mkdir()
    (place / "sitecustomize.py").write_text(boot)
    environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONUNBUFFERED", None)  # with it C code holds nothing back either
    return subprocess.Popen(
        [sys.executable, *words], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Status, output, and errors without addresses in memory."""
    out, errors = process.communicate(timeout=100)
    return (
        process.returncode,
        out.decode(errors="replace"),
        re.sub("0x[0-9a-f]+", "0x", errors.decode(errors="replace")),
    )


@pytest.mark.parametrize(
    ("name", "form"), [*((name, "script") for name in PROGRAMS), *((name, "module") for name in MODULES)]
)
def test_it_ends_as_it_does_by_itself(tmp_path: Path, name: str, form: str) -> None:
    text = PROGRAMS[name]
    (tmp_path / "prog.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    words = ["prog.py", "one"] if form == "script" else ["-m", "prog", "one"]
    taken, alone = (started(tmp_path, words, boot) for boot in (BOOT, ""))
    told, expected = ended(taken), ended(alone)
    assert told[:2] == expected[:2]
    assert told[2] == expected[2] or (name in GARBLED and told[2] in expected[2])
    taken_over = not (tmp_path / "by itself").exists()
    assert taken_over == (form == "module" or name not in UNREADABLE)


@pytest.mark.parametrize("name", LEAVES)
def test_what_it_has_written_is_in_its_file(tmp_path: Path, name: str) -> None:
    left = []
    for boot in (BOOT, ""):
        folder = tmp_path / f"with{len(boot)}"
        folder.mkdir()
        (folder / "prog.py").write_text(LEAVES[name])
        assert ended(started(folder, ["prog.py"], boot))[0] == 0
        left.append((folder / "left").read_bytes())
    assert left[0] == left[1] != b""


READS = """
import ctypes, os, threading
library = ctypes.CDLL(None)
library.fdopen.restype = ctypes.c_void_p
reader, _ = os.pipe()
stream = ctypes.c_void_p(library.fdopen(reader, b"r"))
threading.Thread(target=library.getc, args=(stream,), daemon=True).start()
while library.ftrylockfile(stream) == 0:
    library.funlockfile(stream)
print("it reads")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere an exit takes locks too")
def test_c_code_that_waits_for_input_does_not_keep_it(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(READS)
    process = started(tmp_path, ["prog.py"], BOOT)
    try:
        assert ended(process) == (0, "it reads\n", "")
    finally:
        process.kill()
        process.wait()
