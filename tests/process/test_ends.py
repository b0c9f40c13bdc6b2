"""Proves that a booted program ends, prints, fails and handles signals exactly as it does without us."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Programs

ENDS = {
    "falls off the end": "print('hello')",
    "exit status": "import sys; print('x'); sys.exit(3)",
    "exit with text": "import sys; sys.exit('so long')",
    "exit None": "raise SystemExit",
    "exception": "print('before')\ndef f():\n    raise ValueError('no')\nf()",
    "chained exception": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
    "syntax error": "def (",
    "os._exit": "import os; print('flushed', flush=True); print('lost'); os._exit(5)",
    "abort": "import os; os.abort()",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "interrupted": "import os, signal; print('a'); os.kill(os.getpid(), signal.SIGINT)",
    "handles a signal": (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(9))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
    ),
    "atexit order": (
        "import atexit, threading\n"
        "[atexit.register(print, n) for n in range(3)]\n"
        "threading.Thread(target=lambda: print('thread')).start()\n"
        "print('main')\n"
    ),
    "exception in a thread": (
        "import threading\nt = threading.Thread(target=lambda: 1/0, name='T')\nt.start(); t.join(); print('after')"
    ),
    "own excepthook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\n1/0",
    "exception in an atexit handler": (
        "import atexit\nclass Late:\n    __repr__ = lambda self: 'late'\n    __call__ = lambda self: 1 / 0\n"
        "atexit.register(Late())\nprint('x')"
    ),
    "closed stdout": "import sys; sys.stdout.close()",
    "unencodable": "print('\\udcff')",
    "binary and text": "import sys; print('a'); sys.stdout.flush(); sys.stdout.buffer.write(b'\\x00\\xff'); print('b')",
    "interleaved": "import sys\nfor n in range(50):\n    print(n, file=sys.stderr if n % 3 else sys.stdout)",
    "os.write": "import os, sys; print('a', flush=True); os.write(1, b'raw'); os.write(2, b'err'); print('b')",
    "large": "print('x' * 300_000); print('y' * 300_000)",
    "warnings": "import warnings; warnings.warn('careful')",
    "facts about the streams": (
        "import sys\n"
        "for s in (sys.stdin, sys.stdout, sys.stderr, sys.__stdout__):\n"
        "    print(s.encoding, s.errors, s.line_buffering, s.write_through, s.mode, s.name, s.newlines)\n"
        "    print(s.isatty(), s.fileno())\n"
        "    print(repr(s), type(s).__name__, type(s.buffer).__name__, s.buffer.mode, s.seekable(), s.writable())\n"
        "print(sys.stdout is sys.__stdout__, sys.stdin is sys.__stdin__)\n"
    ),
    "reconfigured": "import sys; sys.stdout.reconfigure(encoding='latin-1'); print('\\xe9')",
    "environment": (
        "import os, sys\n"
        "print(sorted(k for k in os.environ if k not in ('_', 'SHLVL', 'OLDPWD', 'LC_CTYPE')))\n"
        "print(os.environ.get('PYTHONPATH'), os.environ.get('PYTHONHASHSEED'))\n"
        "print(sys.path, sys.argv, sys.orig_argv[1:], 'sitecustomize' in sys.modules, sys.flags)\n"
        "print(__name__, __file__, __spec__)\n"
    ),
    "child process": (
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', 'import os, sys; print(sys.path[1:], len(os.environ), "
        '"PYTHONHASHSEED" in os.environ, "REENACT_BOOT" in os.environ)\'], capture_output=True, text=True).stdout)'
    ),
    "forked child": (
        "import os, sys\n"
        "print('parent', flush=True)\n"
        "pid = os.fork()\n"
        "if not pid:\n    print('child', flush=True); os._exit(0)\n"
        "os.waitpid(pid, 0); print('again')\n"
    ),
    "multiprocessing": (
        "import multiprocessing as mp\n"
        "def f(n): return n * 2\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('spawn').Pool(2) as pool: print(pool.map(f, [1, 2, 3]))\n"
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_program_ends_as_it_does_without_us(programs: Programs, name: str) -> None:
    agent = programs.script(ENDS[name])
    bare, booted = programs.bare(sys.executable, agent), programs.booted(sys.executable, agent)
    assert booted.visible == bare.visible
    assert booted.said["began"] and not booted.said["failure"]
    if name not in ("killed", "os._exit", "abort", "terminated", "forked child"):
        assert booted.session["out"].encode("utf-8", "surrogateescape") == bare.out
        assert booted.session["err"].encode("utf-8", "surrogateescape") == bare.err


@pytest.mark.parametrize("option", ["-u", "-X utf8", "-O", "-W error", "-B"])
def test_interpreter_options_work(programs: Programs, option: str) -> None:
    agent = programs.script("import sys; print(sys.flags, sys.stdout.write_through); print('e', file=sys.stderr)")
    command = (sys.executable, *option.split(), agent)
    bare, booted = programs.bare(*command), programs.booted(*command)
    assert booted.visible == bare.visible
    assert booted.session["out"].encode() == bare.out and booted.session["err"].encode() == bare.err


def test_every_way_to_start_python_is_seen(programs: Programs) -> None:
    programs.script("import sys; print('run', sys.argv)", "mod.py")
    script = programs.folder / "tool"
    script.write_text(f"#!{sys.executable}\nimport sys; print('script', sys.argv)\n")
    script.chmod(0o755)
    ways = [
        (sys.executable, "mod.py", "a", "--b"),
        (sys.executable, "-m", "mod", "a"),
        (sys.executable, "-c", "print('text')"),
        ("sh", "-c", f"{shlex.quote(sys.executable)} mod.py from shell"),
        (sys.executable, "-m", "pytest", "--version"),
    ]
    if " " not in sys.executable:  # the system takes what stands before the blank for the interpreter
        ways.append(("./tool", "x"))
    for way in ways:
        bare, booted = programs.bare(*way), programs.booted(*way)
        assert booted.visible == bare.visible, way
        assert booted.said["began"], way


def test_a_console_script_beside_our_interpreter_is_found_without_activation(programs: Programs) -> None:
    done = programs.booted("pytest", "--version", PATH="/usr/bin:/bin")
    assert b"pytest" in done.out + done.err and done.said["began"]


def test_only_the_first_python_process_is_the_run(programs: Programs) -> None:
    programs.script("import os; print(os.environ.get('REENACT_BOOT'), os.environ.get('PYTHONPATH'))")
    python = shlex.quote(sys.executable)
    done = programs.booted("sh", "-c", f"{python} agent.py && {python} agent.py")
    assert done.out == b"None None\nNone None\n"
    assert done.session["out"] == "None None\n"


@pytest.mark.parametrize("option", ["-I", "-S", "-E", "-Ic", "-bE"])
def test_an_interpreter_that_does_not_load_us_is_told_of(programs: Programs, option: str) -> None:
    words = (sys.executable, option, "print(1)") if option.endswith("c") else (sys.executable, option, "-c", "print(1)")
    done = programs.booted(*words)
    assert (done.out, done.status) == (b"1\n", 0)
    assert not done.said["began"]
    assert done.said["option"] == f"-{option.strip('-cb')}"


def test_a_program_that_is_not_python_runs_untouched(programs: Programs) -> None:
    done = programs.booted("sh", "-c", "echo hi; exit 4")
    assert (done.out, done.status) == (b"hi\n", 4)
    assert not done.said["began"] and done.said["option"] == ""


def test_a_recorder_that_cannot_begin_costs_the_recording_only(programs: Programs) -> None:
    agent = programs.script("import os, sys; print(sorted(os.environ), sys.path); sys.exit(2)")
    bare = programs.bare(sys.executable, agent)
    done = programs.booted(sys.executable, agent, instructions={"explode": True})
    assert done.visible == bare.visible
    assert done.said["failure"] == "the recorder cannot begin" and not done.said["began"]


def test_a_replay_that_cannot_begin_does_not_run_the_program(programs: Programs) -> None:
    agent = programs.script("print('touching the world')")
    done = programs.booted(sys.executable, agent, instructions={"explode": True, "mode": "replay"})
    assert done.out == b"" and done.status == 3
    assert done.said["failure"] == "the recorder cannot begin"


def test_the_programs_own_sitecustomize_runs_in_its_place(programs: Programs) -> None:
    own = programs.folder / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys; sys.mine = [*getattr(sys, 'mine', []), __file__, __name__]")
    agent = programs.script(
        "import sys; print(sys.mine); import sitecustomize, os\n"
        "print(sys.mine, sitecustomize.__file__, os.environ['PYTHONPATH'], sys.path)"
    )
    bare = programs.bare(sys.executable, agent, PYTHONPATH=str(own))
    assert programs.booted(sys.executable, agent, PYTHONPATH=str(own)).visible == bare.visible
    assert b"own/sitecustomize.py" in bare.out


def test_an_error_in_the_programs_own_sitecustomize_is_reported_as_always(programs: Programs) -> None:
    (programs.folder / "sitecustomize.py").write_text("import sys\nif sys.argv[0] == '-c': 1 / 0")
    bare = programs.bare(sys.executable, "-c", "print(5)", PYTHONPATH=str(programs.folder))
    assert programs.booted(sys.executable, "-c", "print(5)", PYTHONPATH=str(programs.folder)).visible == bare.visible
    assert b"sitecustomize" in bare.err


def test_a_hash_seed_is_chosen_where_none_is_set(programs: Programs) -> None:
    agent = programs.script("import os; print(hash('a'), os.environ.get('PYTHONHASHSEED'))")
    fixed = [run(sys.executable, agent, PYTHONHASHSEED="7") for run in (programs.bare, programs.booted)]
    assert fixed[0].out == fixed[1].out and fixed[0].out.endswith(b" 7\n")
    ours = [programs.booted(sys.executable, agent).out for _ in range(2)]
    assert all(line.endswith(b" None\n") for line in ours) and ours[0] != ours[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT])
@pytest.mark.parametrize("handled", [True, False])
def test_signals_sent_to_us_reach_the_program(programs: Programs, number: signal.Signals, handled: bool) -> None:
    lines = ["import signal, sys, time", f"signal.pthread_sigmask(signal.SIG_BLOCK, [{int(number)}])"]
    if handled:
        lines.append(f"signal.signal({int(number)}, lambda n, f: (print('got', n, flush=True), sys.exit(6)))")
    lines += ["print('ready', flush=True)", f"signal.pthread_sigmask(signal.SIG_UNBLOCK, [{int(number)}])"]
    lines += ["time.sleep(60)"]
    agent = programs.script("\n".join(lines))
    seen = []
    for argv in ([sys.executable, agent], programs.command((sys.executable, agent))[0]):
        process = subprocess.Popen(
            argv,
            cwd=programs.folder,
            env=programs.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        seen.append((process.stdout.read(), process.wait(timeout=30)))
        process.stdout.close()
    assert seen[0] == seen[1]
    assert seen[1][1] == (6 if handled else -number)


def test_an_ignored_signal_stays_ignored(programs: Programs) -> None:
    agent = programs.script("import signal; print([signal.getsignal(signal.SIGHUP)], signal.getsignal(signal.SIGINT))")
    command, _ = programs.command((sys.executable, agent))
    for start in ([sys.executable, agent], command):
        done = subprocess.run(
            ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *start],
            cwd=programs.folder,
            env=programs.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert "SIG_IGN" in done.stdout and "default_int_handler" in done.stdout


@pytest.mark.parametrize("handled", [True, False])
def test_a_program_may_handle_what_was_ignored_when_it_began(programs: Programs, handled: bool) -> None:
    """As a script starts what it puts in its background: a server handles the interrupt, a plain program does not."""
    lines = ["import os, signal, sys, time"]
    lines += ["signal.signal(signal.SIGINT, lambda n, f: (os.write(1, b'got'), sys.exit(6)))"] * handled
    agent = programs.script("\n".join([*lines, "os.write(1, b'ready\\n')", "time.sleep(60)"]))
    seen = []
    for argv in ([sys.executable, agent], programs.command((sys.executable, agent))[0]):
        process = subprocess.Popen(
            ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *argv],
            cwd=programs.folder,
            env=programs.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        for number in [signal.SIGINT] if handled else [signal.SIGINT, signal.SIGTERM]:
            process.send_signal(number)
        seen.append((process.stdout.read(), process.wait(timeout=30)))
        process.stdout.close()
    assert seen[0] == seen[1]
    assert seen[1][1] == (6 if handled else -signal.SIGTERM)


def test_a_broken_pipe_ends_the_program_as_always(programs: Programs) -> None:
    agent = programs.script("import sys\nfor n in range(100_000):\n    print(n)\n")
    seen = []
    for argv in ([sys.executable, agent], programs.command((sys.executable, agent))[0]):
        process = subprocess.Popen(
            argv, cwd=programs.folder, env=programs.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        seen.append((process.stderr.read(), process.wait(timeout=30)))
        process.stderr.close()
    assert seen[0][1] == seen[1][1]
    assert b"BrokenPipeError" in seen[0][0] and b"BrokenPipeError" in seen[1][0]


def test_closed_standard_streams_are_left_alone(programs: Programs) -> None:
    agent = programs.script("import sys; open('seen', 'w').write(repr((sys.stdin, sys.stdout)))")
    command, _ = programs.command((sys.executable, agent))
    for start in ([sys.executable, agent], command):
        subprocess.run(
            ["sh", "-c", 'exec "$@" <&- >&-', "sh", *start],
            cwd=programs.folder,
            env=programs.environment,
            timeout=60,
            check=True,
        )
        assert (programs.folder / "seen").read_text() == "(None, None)"


def test_descriptors_of_the_caller_reach_the_program(programs: Programs) -> None:
    agent = programs.script("import os; os.write(7, b'through')")
    command, _ = programs.command((sys.executable, agent))
    shell = ["sh", "-c", 'exec "$@" 7>seven', "sh", *command]
    subprocess.run(shell, cwd=programs.folder, env=programs.environment, timeout=60, check=True)
    assert (programs.folder / "seven").read_bytes() == b"through"


def test_nothing_is_left_behind(programs: Programs, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    programs.booted(sys.executable, "-c", "pass", TMPDIR=str(temporary))
    assert list(temporary.iterdir()) == []
