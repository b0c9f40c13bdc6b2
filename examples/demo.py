"""The guided tour: two agents fail, the network goes away, both failures are re-enacted by the agents' own code, and
one is forked with two candidate fixes (a changed state, and the code of another revision) and kept as a test.

Everything happens in a temporary directory, in a git repository of its own. Each command is printed as it could be
typed. Each claim is checked, and one that does not hold ends the tour with exit status 1.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from reenact.testing import ProviderProcess

HERE = Path(__file__).resolve().parent
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
REFUND = 'python refund_loop/agent.py "What is your refund policy?"'
FIXED = "I don't have any documents about refund policy. Please check with support."
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "demo" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "demo@localhost" for who in ("AUTHOR", "COMMITTER")},
}
"""A repository that the user's own settings do not reach."""
ORDER = 'python order_lookup/agent.py "Where is my order?"'


class NotAsTold(Exception):
    """Something that the tour said did not come about."""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended: its exit status and what it printed."""

    status: int
    out: str
    err: str


class Stage:
    """The directory the tour plays in, and the environment its commands see.

    Args:
        directory: An empty directory; the examples are copied into it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name in ("refund_loop", "order_lookup"):
            shutil.copytree(HERE / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
        bare = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        self.environ = {**bare, "PATH": path, "REENACT_STORE": str(directory / ".reenact"), "NO_COLOR": "1", **GIT}
        (directory / ".gitignore").write_text(".reenact\n__pycache__\n", encoding="utf-8")
        self.git("git init -q -b main", "git add -A", "git commit -q -m v1")

    def git(self, *commands: str) -> None:
        """Run commands of git, without a word.

        Raises:
            NotAsTold: One fails.
        """
        for command in commands:
            done = subprocess.run(shlex.split(command), cwd=self.directory, env=self.environ, capture_output=True)
            if done.returncode:
                raise NotAsTold(f"{command}: {os.fsdecode(done.stderr)}")

    def run(self, command: str, *, show: int = 4) -> Done:
        """Print a command, run it, show the end of what it printed."""
        print(f"\n$ {command}", flush=True)
        words = shlex.split(command)
        # The interpreter of this process is the one that has reenact, whether or not its folder is on the PATH.
        program = {"reenact": [sys.executable, "-m", "reenact"], "python": [sys.executable]}[words[0]]
        done = subprocess.run(
            [*program, *words[1:]],
            cwd=self.directory,
            env=self.environ,
            capture_output=True,
            text=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            check=False,
        )
        announced, err = _announced(done.stderr)
        for text in (announced, done.stdout, err):
            _show(text, show)
        return Done(done.returncode, done.stdout, done.stderr)


def _announced(err: str) -> tuple[str, str]:
    """The line a replay begins with, which came before the program's own output, and the rest."""
    first, _, rest = err.partition("\n")
    return (first, rest) if first.startswith(("reenact: replay ", "reenact: fork ")) else ("", err)


def _show(text: str, most: int) -> None:
    lines = text.rstrip().splitlines()
    if len(lines) > most:
        print(f"  … {len(lines) - most} lines")
    for line in lines[-most:]:
        print(f"  {line}")


def check(holds: bool, claim: str) -> None:
    """Print a claim that holds; end the tour at one that does not."""
    print(f"  {'ok ' if holds else 'NOT'} {claim}", flush=True)
    if not holds:
        raise NotAsTold(claim)


def say(text: str) -> None:
    """One line of talk."""
    print(f"\n{text}", flush=True)


def record_refund_loop(stage: Stage) -> Done:
    """Record the first incident against its world, then end the world."""
    say("1. An agent on the OpenAI SDK is asked for the refund policy. The provider is scripted; it is not a model.")
    with ProviderProcess(HERE / "refund_loop" / "world.py") as world:
        stage.environ.update(world.environment())
        done = stage.run(f"reenact record --agent refund_loop@v1 --tag id=run_xyz789 -- {REFUND}")
        check(
            done.status == 1 and "TimeoutError: timed out after 20 searches" in done.err,
            "it searched until it timed out",
        )
        check(world.counts == {"/v1/chat/completions": 20}, "the provider was asked 20 times")
    return done


def record_order_lookup(stage: Stage) -> Done:
    """Record the second incident against its world, then end the world."""
    say("2. An agent on the Anthropic SDK, unmodified: customer u_7710 asks for an order.")
    with ProviderProcess(HERE / "order_lookup" / "world.py") as world:
        stage.environ.update(world.environment(), ORDERS_URL=world.url)
        done = stage.run(
            f"reenact record --agent order_lookup --user u_7710 --tenant shop_4 --tag id=r_8821 -- {ORDER}"
        )
        check(done.status == 0 and "#4421" in done.out, "it answered with #4421, which is another customer's order")
    return done


def replay(stage: Stage, reference: str, then: Done) -> None:
    """Replay a run and hold it against what it printed then."""
    now = stage.run(f"reenact replay {reference}")
    last = now.err.rstrip().rpartition("\n")[2]
    check(now.out == then.out, "its standard output is the same, to the byte")
    check(now.status == 0 and "verdict: same" in last, "the verdict is same")
    check("live calls made: 0 " in last, "live calls made: 0")


def day_two(stage: Stage, then: Done) -> None:
    """The world has moved on: look at the second incident a day later."""
    say("4. A day later the order service knows better, and a look at it now finds nothing wrong:")
    with ProviderProcess(HERE / "order_lookup" / "world.py", day=2) as world:
        live = {**world.environment(), "ORDERS_URL": world.url}
        before, stage.environ = stage.environ, {**stage.environ, **live}
        now = stage.run(ORDER)
        stage.environ = before
        check(now.status == 0 and "#5093" in now.out and "#4421" not in now.out, "the live agent answers with #5093")
        asked = sum(world.counts.values())
        say("The recording still shows what the customer saw, with that world running beside it:")
        replay(stage, "@", then)
        check(sum(world.counts.values()) == asked, "no request went to the service of today")


def changed_agent(stage: Stage) -> None:
    """A replay runs the agent's code as it is now: a change in it is found, and named."""
    say("5. It really is the agent's code that runs: change the question it puts to the order service, and replay.")
    agent = stage.directory / "order_lookup" / "agent.py"
    print('\n$ sed -i \'s/params={"q": query}/params={"q": query, "user": "u_7710"}/\' order_lookup/agent.py')
    text = agent.read_text(encoding="utf-8")
    agent.write_text(text.replace('params={"q": query}', 'params={"q": query, "user": "u_7710"}'), encoding="utf-8")
    now = stage.run("reenact replay @", show=12)
    check(now.status == 1 and "u_7710" in now.err, "it stops at the call that is different, and says where and how")


def located(stage: Stage) -> str:
    """Find the first incident among the runs by what it did; gives a reference to it."""
    say("6. A colleague asks why the refund question timed out. Which run was it? Search for its words and its calls:")
    found = stage.run("reenact ls --failed -k 'refund policy' --where 'calls(search_docs) > 5'")
    check("refund_loop" in found.out, "it is found by its words and by its many searches")
    return found.out.splitlines()[1].split()[0]


def forked(stage: Stage, loop: str) -> None:
    """Fork the first incident with two candidate fixes, and lay the runs beside each other."""
    say("7. Would a fix have helped? Fork it at its first step, as the version with an empty check:")
    state = stage.run(f"""reenact fork {loop}:decide#1 --set 'agent_version="v2_with_empty_check"' --live none""")
    answered(state, "it says that it has no documents, after one search")
    say("The other candidate is code: a revision in which the empty check is on.")
    agent = stage.directory / "refund_loop" / "agent.py"
    stage.git("git stash -q", "git checkout -q -b empty_check")
    text = agent.read_text(encoding="utf-8")
    print('\n$ git checkout -b empty_check; sed -i \'s/, "v1")/, "v2_with_empty_check")/\' refund_loop/agent.py')
    agent.write_text(text.replace(', "v1")', ', "v2_with_empty_check")'), encoding="utf-8")
    stage.git("git commit -q -a -m v2", "git checkout -q main", "git stash pop -q")
    code = stage.run(f"reenact fork {loop}:0 --rev empty_check --live none")
    answered(code, "its code says the same, and the folder still holds the old one")
    compared(stage, loop)


def answered(done: Done, claim: str) -> None:
    """Check that a fork came to the answer of the fix, offline."""
    check(done.status == 0 and done.out.rstrip().endswith(FIXED), claim)
    check("live calls made: 0 " in done.err.rstrip().rpartition("\n")[2], "live calls made: 0")


def compared(stage: Stage, loop: str) -> None:
    """Lay both forks beside the incident, and verify that what is kept of the second one is what it does."""
    say("8. Compare, and verify:")
    beside = stage.run(f"reenact diff {loop} @~1 @ --stat", show=12)
    check(beside.status == 1, "the runs differ, and diff says in what")
    again = stage.run("reenact replay @")
    check(again.status == 0 and again.out.rstrip().endswith(FIXED), "the fork replays under its revision")
    shown = stage.run("reenact show @", show=12)
    check(shown.out.count(" step ") == 2, "it took two steps")
    stage.run("reenact ls --tree", show=8)


def kept(stage: Stage, loop: str) -> None:
    """Keep the first incident as a regression test, which fails today and passes with the fix."""
    say("9. It must never come back. Keep the incident as a test, with what is expected:")
    expected = "--expect 'calls(search_docs) <= 3' --expect '\"have any documents\" in answer'"
    added = stage.run(f"reenact golden add {loop} --as refund-loop {expected}", show=8)
    check(added.status == 0 and "calls(search_docs) = 20" in added.err, "it fails until the bug is fixed")
    agent = stage.directory / "refund_loop" / "agent.py"
    text = agent.read_text(encoding="utf-8")
    say("Mend the agent, and run the test: today's code on the recorded answers. No service is asked.")
    print('\n$ sed -i \'s/, "v1")/, "v2_with_empty_check")/\' refund_loop/agent.py')
    agent.write_text(text.replace(', "v1")', ', "v2_with_empty_check")'), encoding="utf-8")
    now = stage.run("reenact golden run refund-loop")
    check(now.status == 0 and "passed  2 of 2 expectations" in now.out, "one question, one search: the test passes")


def tour(directory: Path) -> None:
    """The whole tour, in ``directory``.

    Raises:
        NotAsTold: Something did not come about.
    """
    stage = Stage(directory)
    refund = record_refund_loop(stage)
    order = record_order_lookup(stage)
    say("3. Both providers have ended, and the keys are gone. The agents' own code runs again:")
    for key in KEYS:
        stage.environ.pop(key, None)
    print(f"\n$ unset {' '.join(KEYS)}")
    replay(stage, "@~1", refund)
    replay(stage, "@", order)
    day_two(stage, order)
    changed_agent(stage)
    loop = located(stage)
    forked(stage, loop)
    kept(stage, loop)


def main() -> int:
    """Play the tour in a temporary directory; gives the exit status."""
    started = time.monotonic()
    print("The tour: nine stations, about 20 seconds, all in a temporary folder.", flush=True)
    with tempfile.TemporaryDirectory(prefix="reenact-demo-") as directory:
        try:
            tour(Path(directory))
        except NotAsTold as failed:
            print(f"\nNot as told: {failed}", file=sys.stderr)
            return 1
    spent = time.monotonic() - started
    say(f"Two failures, recorded once; re-enacted, forked and kept as a test offline ({spent:.0f} s).")
    print("next: reenact record -- python your_agent.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
