"""Proves that programs driven through ``subprocess`` replay exactly, and that nothing is started for it."""

from __future__ import annotations

import sys

import pytest

from reenact import open_store
from tests.programs import read_program

from .conftest import Agent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")

WAYS = {
    "run": """
        import subprocess
        done = subprocess.run(["sh", "helper.sh"], capture_output=True)
        print(done)
        script = "sh helper.sh; cat; echo no >&2; exit 3"
        done = subprocess.run(["sh", "-c", script], input="a line", stdout=-1, stderr=-1, text=True)
        print(done)
        try:
            done.check_returncode()
        except subprocess.CalledProcessError as error:
            print(error, error.cmd, error.stderr)
    """,
    "check_output, call, getoutput, a shell's line": """
        import subprocess, os
        print(subprocess.check_output("sh helper.sh; printf 'no newline'", shell=True))
        print(subprocess.call(["sh", "-c", "sh helper.sh; exit 7"], stdout=subprocess.DEVNULL))
        print(subprocess.getstatusoutput("echo out; echo err >&2; exit 2"))
        with os.popen("echo from popen") as pipe:
            print(pipe.read())
    """,
    "what cannot be started": """
        import subprocess
        for command in (["no-such-program"], ["./helper.sh"]):
            try:
                subprocess.run(command)
            except OSError as error:
                print(type(error).__name__, error.errno, error.filename, isinstance(error, FileNotFoundError))
        print(subprocess.run(["sh", "helper.sh"]).returncode, subprocess.run("exit 127", shell=True).returncode)
        try:
            subprocess.run(["sh", "helper.sh"], cwd="nowhere")
        except FileNotFoundError as error:
            print(error.filename)
    """,
    "timeouts and kills": """
        import signal, subprocess
        try:
            subprocess.run(["sh", "-c", "sh helper.sh; echo partial; exec sleep 30"], capture_output=True, timeout=0.5)
        except subprocess.TimeoutExpired as error:
            print(error.cmd, error.timeout, error.output)
        process = subprocess.Popen(["sleep", "30"])
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired as error:
            print(error)
        print(process.poll())
        process.terminate()
        print(process.wait() == -signal.SIGTERM, process.returncode, process.poll())
        process.kill()
        with subprocess.Popen(["sleep", "30"], stdout=subprocess.PIPE) as process:
            process.send_signal(signal.SIGINT)
            print(process.communicate(), process.returncode)
    """,
    "groups and ids": """
        import os, signal, subprocess
        process = subprocess.Popen(["sh", "-c", "sh helper.sh; sleep 30"], start_new_session=True)
        print(os.getpgid(process.pid) == process.pid)
        os.killpg(os.getpgid(process.pid), signal.SIGKILL)
        print(process.wait())
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 5"], dict(os.environ))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        print(os.waitstatus_to_exitcode(os.system("sh helper.sh; exit 6")))
    """,
    "every way to read": """
        import subprocess
        script = "printf 'one\\\\ntwo\\\\n'; printf 'three' >&2; printf '\\\\377\\\\000end'"
        with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            print(process.stdout.readline(), process.stdout.read1(2), process.stdout.read(), process.stderr.read(2))
        print(process.returncode, process.stdout.closed)
        with subprocess.Popen(["sh", "-c", "seq 1 2000"], stdout=subprocess.PIPE, text=True) as process:
            print(sum(int(line) for line in process.stdout), list(process.stdout))
        with subprocess.Popen(["sh", "-c", "seq 1 20"], stdout=subprocess.PIPE, bufsize=0) as process:
            print(process.stdout.read(3), process.stdout.read(4), process.stdout.readline())
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(b"x" * 30_000)
            print(len(process.communicate()[0]))
    """,
    "descriptors": read_program("subprocesses/read_by_descriptors.py"),
    "a pseudo-terminal": read_program("subprocesses/pseudo_terminal.py"),
    "readers that are cancelled": """
        import asyncio
        async def main():
            process = await asyncio.create_subprocess_exec("sh", stdin=-1, stdout=-1)
            process.stdin.write(b"sh helper.sh; sleep 0.2; echo one; sleep 0.2; echo two\\n")
            got, late = [], 0
            while len(got) < 2:
                try:
                    got.append(await asyncio.wait_for(process.stdout.readline(), 0.05))
                except TimeoutError:
                    late += 1
            print(got, late)
            process.stdin.close()
            print(await process.wait())
        asyncio.run(main())
    """,
    "forks": read_program("subprocesses/forks_and_a_terminal.py"),
    "threads": read_program("subprocesses/processes_of_threads.py"),
    "asyncio": read_program("subprocesses/processes_of_asyncio.py"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_program_that_starts_processes_replays_without_them(agent: Agent, way: str) -> None:
    agent.same(WAYS[way])
    assert way == "every way to read" or agent.started()


def test_a_recorded_program_prints_what_it_prints_without_us(agent: Agent) -> None:
    agent.write(WAYS["run"] + WAYS["every way to read"] + WAYS["groups and ids"])
    assert agent.run(sys.executable, "agent.py").stdout == agent.record().stdout


SHELL = """
    import subprocess, sys
    shell = subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def tool(line):
        shell.stdin.write(line + "; echo __done__ $?\\n")
        shell.stdin.flush()
        output = []
        for got in shell.stdout:
            if got.startswith("__done__"):
                return "".join(output), int(got.split()[1])
            output.append(got)

    for line in LINES:
        print(tool(line))
    shell.stdin.close()
    print(shell.wait(timeout=10))
"""


def test_an_interactive_shell_is_played(agent: Agent) -> None:
    lines = ["sh helper.sh", "x=5", "echo $x", "ls nowhere", "printf 'a\\nb\\n'", "cd /; pwd"]
    printed = agent.same(SHELL.replace("LINES", repr(lines)), starts=1)
    assert "('5\\n', 0)" in printed and "('/\\n', 0)" in printed


def test_another_line_typed_into_a_shell_is_a_divergence_that_names_both(agent: Agent) -> None:
    agent.write(SHELL.replace("LINES", "['echo one', 'echo two']"))
    agent.record()
    agent.write(SHELL.replace("LINES", "['echo one', 'rm -r everything']"))
    replayed = agent.replay()
    assert replayed.returncode == 1
    assert "echo two; echo __done__" in replayed.stderr and "rm -r everything; echo __done__" in replayed.stderr


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ('["echo", "a"]', '["echo", "b"]', "command.1"),
        ('["echo", "a"]', '["printf", "a"]', "printf"),
        ('["pwd"]', '["pwd"], cwd="/"', "cwd"),
        ('["true"]', '["true"], env={**os.environ, "MODE": "x"}', "environment"),
        ('["cat"], input=b"a"', '["cat"], input=b"b"', "written"),
    ],
)
def test_whatever_decides_what_a_process_does_is_compared(agent: Agent, before: str, after: str, named: str) -> None:
    program = "import os, subprocess\nprint(subprocess.run(COMMAND, stdout=-1))\n"
    agent.write(program.replace("COMMAND", before))
    agent.record()
    agent.write(program.replace("COMMAND", after))
    replayed = agent.replay()
    assert replayed.returncode == 1
    assert named in replayed.stderr


def test_a_process_that_was_not_recorded_is_not_started(agent: Agent) -> None:
    agent.write("print('nothing yet')\n")
    agent.record()
    agent.write("import subprocess\nprint('nothing yet')\nsubprocess.run(['/bin/sh', '-c', 'echo x >> marks'])\n")
    assert agent.replay().returncode != 0
    assert not agent.started()


def test_secrets_in_the_environment_of_a_child_are_neither_kept_nor_compared(agent: Agent) -> None:
    agent.write(
        """
        import os, subprocess
        environment = {**os.environ, "SERVICE_TOKEN": os.environ["GIVEN"] + "-" * 3 + "9f8e7d6c5b4a39281706"}
        print(subprocess.run(["echo", "ok"], env=environment, stdout=-1).stdout)
        """
    )
    done = agent.run(sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py", GIVEN="one")
    assert done.returncode == 0, done.stderr
    kept = [file.read_bytes() for file in (agent.folder / "store.sqlite").rglob("*") if file.is_file()]
    assert kept and not any(b"9f8e7d6c5b4a39281706" in data for data in kept)
    replayed = agent.run(sys.executable, "-m", "reenact", "replay", "@", GIVEN="another")
    assert replayed.returncode == 0, replayed.stderr


@pytest.mark.slow
def test_fifty_megabytes_pass_through_in_bounded_memory(agent: Agent) -> None:
    printed = agent.same(
        """
        import hashlib, resource, subprocess
        digest, size = hashlib.sha256(), 0
        command = ["sh", "-c", "yes 0123456789abcdef | head -c 50000000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            while part := process.stdout.read(65536):
                digest.update(part)
                size += len(part)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(size, digest.hexdigest(), process.returncode)
        assert grown < 60_000_000 / (1 if __import__("sys").platform == "darwin" else 1024), grown
        """
    )
    assert printed.startswith("50000000 ")


def test_a_recorded_block_keeps_what_passes_through_descriptors(agent: Agent) -> None:
    agent.write(
        """
        import os, subprocess, sys
        import reenact

        @reenact.record
        def drive():
            process = subprocess.Popen(["sh", "-c", "echo $$ >> marks; echo ready; read x; echo got $x"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            first = os.read(process.stdout.fileno(), 100)
            os.write(process.stdin.fileno(), b"two\\n")
            second = os.read(process.stdout.fileno(), 100)
            return [first.decode(), second.decode(), process.wait()]

        if __name__ == "__main__":
            print(drive())
        """
    )
    ran = agent.run(sys.executable, "agent.py")
    assert ran.stdout == "['ready\\n', 'got two\\n', 0]\n", ran.stderr
    replayed = agent.replay()
    assert replayed.returncode == 0 and "verdict: same (exact)" in replayed.stderr, replayed.stderr
    assert agent.started() == 1


STARTED_AND_NOT = {
    "subprocess": """
        import subprocess
        for command in ("no-such-program", "true"):
            try:
                subprocess.run([command], stderr=subprocess.PIPE)
            except FileNotFoundError as error:
                print(error)
    """,
    "asyncio": """
        import asyncio
        async def main():
            for command in ("no-such-program", "true"):
                try:
                    await (await asyncio.create_subprocess_exec(command, stderr=asyncio.subprocess.PIPE)).communicate()
                except FileNotFoundError as error:
                    print(error)
        asyncio.run(main())
    """,
}


@pytest.mark.parametrize("text", STARTED_AND_NOT.values(), ids=STARTED_AND_NOT)
def test_only_a_process_that_started_shares_a_stream(agent: Agent, text: str) -> None:
    agent.same(text)
    with open_store(str(agent.folder / "store.sqlite")) as store:
        (run,) = store.runs()
        assert {f"{what}: {place}" for what, place, _ in store.open(run).gaps()} == {"inherited stdout: true"}
