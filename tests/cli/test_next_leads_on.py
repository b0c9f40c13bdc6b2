"""Every command that a message proposes is typed, in a folder that has what it needs, and leads on.

What the sources propose is read by ``tests.cli.proposals``: a command that is new there is typed here by itself, and
has to be filled in, or named with the test that types it.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.testing import ProviderProcess
from tests.cli.proposals import STAND_IN, proposed
from tests.desk import Desk, Ended
from tests.programs import read_program

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
AGENT = read_program("cli/model_and_three_tools.py")
OURS = str(CHECKOUT / "src" / "reenact")
"""What a traceback of ours names; an agent may end with one of its own."""
_LIMIT_S = 300

ELSEWHERE = {
    "REENACT_DEBUG=1 reenact x": "tests/cli/test_group.py",
    "make demo": "tests/project/test_readme.py",
    "python x agent.py": "tests/interop/test_exports_played.py",
    "python -m pytest --reenact=missing": "tests/plugin/test_world.py",
    "python -m pytest --reenact=review --reenact-accept=x:x=REASON": "tests/plugin/test_review.py",
    "reenact serve --bind x": "tests/interop/test_serve.py",
    "reenact serve --bind x --token-env RECEIVER_TOKEN": "tests/interop/test_serve.py",
    "reenact serve --bind 127.0.0.1:0": "tests/interop/test_serve.py",
}
"""What is typed by a test of its own."""
SYSTEM = ("df", "exec", "export", "git", "ls", "pip", "ray", "which")
"""Programs of the system."""


class Typing(Desk):
    """A desk with an agent, its runs and a golden, where lines are typed."""

    limit_s = _LIMIT_S

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.names: dict[str, str] = {}

    def type(self, command: str) -> Ended:
        """Type a command."""
        return self.run(*shlex.split(command))

    def typed(self, command: str, *codes: int) -> str:
        """Type what must end with a status, and give what is said."""
        done = self.type(command)
        assert done.code in codes, f"{command}: {done.code}\n{done.text}{done.told}"
        return done.text + done.told


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typing]:
    """Two runs of an agent, one of them failed, a fork, a bundle, an import, a golden and a mark."""
    desk = Typing(tmp_path_factory.mktemp("typing"))
    folder = desk.folder
    (folder / "agent.py").write_text(AGENT)
    (folder / "question.txt").write_text("where is it?")
    with ProviderProcess() as provider:
        desk.environment |= provider.environment()
        for command in ("git init -q", "git add agent.py", "git -c user.name=a -c user.email=a@b commit -qm agent"):
            subprocess.run(shlex.split(command), cwd=folder, check=True, timeout=_LIMIT_S)
        desk.names["ok"] = desk.typed("reenact record -- python agent.py", 0).split()[-1]
        desk.names["failed"] = desk.typed("reenact record -- python agent.py fail", 1).split()[-1]
        desk.typed(
            'reenact fork @failed:look#1 --result \'look#1={"city": "Bonn"}\' --live all --allow-write pay', 0, 1
        )
        desk.typed(f"reenact pack {desk.names['ok']} -o 'my run.reenact'", 0)
        desk.typed(f"reenact export har {desk.names['ok']} -o 'my run.har'", 0)
        desk.typed("reenact golden add @failed --as kept --expect \"status == 'ok'\"", 0)
        desk.typed("reenact mark 'v2 deployed' --rev HEAD", 0)
        yield desk


WELL = "\"status == 'ok'\""
RULES = (
    (r"python agent.py x", "python agent.py ok"),
    (r"record -- x x$", "record -- python agent.py"),
    (r"record -- x$", "record -- python agent.py"),
    (r"record -- python x", "record -- python agent.py"),
    (r"import x x$", "import har 'my run.har'"),
    (r"--mark x", "--mark 'v2 deployed'"),
    (r"--tag x", "--tag owner=ann"),
    (r"--accept x=REASON", "--accept 0=because"),
    (r"--answer x=JSON", "--answer look#1=null"),
    (r"golden run x", "golden run kept"),
    (
        r"golden add (x|@failed) --as [\w-]+ (--expect|x) (\"status == 'ok'\"|\w+)",
        "golden add FAILED --as again --force --expect \"status == 'ok'\"",
    ),
    (r"--force( .*)? --force", r"--force\1"),
    (r"--live x", "--live look"),
    (r"--through (x|TOOL)", "--through look"),
    (r"--allow-write '?x'?", "--allow-write pay"),
    (r"--rev x", "--rev HEAD"),
    (r"--flag x=…", "--flag shiny=true"),
    (r"--(at|changed) x", r"--\1 1"),
    (r"--group x", "--group GROUP"),
    (r"--settle done --result x=", "--settle done --result pay#1="),
    (r"--cmd x", "--cmd 'python agent.py'"),
    (r"(module:function|module:factory|agent:main)", "agent:main"),
    (r"--input …", "--input question"),
    (r"@FILE", "@question.txt"),
    (r"x:x\.\.x", "OK:0..1"),
    (r"x:x\.result", "OK:1.result"),
    (r"cat x$", "cat OK:1.result"),
    (r"resend x", "resend OK:0"),
    (r"\bx:", "OK:"),
    (r":x\b", ":1"),
    (r"(fork|resume) xx", r"\1 FAILED:1"),
    (r"-o xx?(\.reenact)?$", "-o other.reenact"),
    (r"--store x ls", "--store .reenact ls"),
    (r"(?<![\w/-])x(?![\w-])", "OK"),
)
"""How the stand-ins of a command are filled in, one after the other."""
OWN = {
    "reenact unpack FILE.reenact": "reenact unpack 'my run.reenact'",
    "reenact unpack x": "reenact unpack 'my run.reenact'",
    "reenact replay FILE.reenact --sources": "reenact replay 'my run.reenact' --sources",
    "reenact replay x --sources": "reenact replay 'my run.reenact' --sources",
    "reenact diff x x": "reenact diff OK FAILED",
    "reenact export markdown x x": "reenact export markdown OK FAILED",
}
REFUSED = {
    "reenact --store sqlite:///runs.db ls": "no store is there yet",
    **dict.fromkeys(
        (
            "reenact fork x:0 --entry module:function --input …",
            "reenact fork x:0 --input @FILE",
            "reenact fork x:0 --input …",
        ),
        "it reads no input: tests/forks/test_input.py",
    ),
    "reenact fork x:x --input '{}'": "an input is that of a server's request: tests/servers/test_forks.py",
    "reenact golden add x --as x --expect x --cmd 'python agent.py'": "it was not imported: tests/interop",
    "reenact golden run x --mode review --accept x=REASON": "nothing differs there: tests/goldens/test_review.py",
    "reenact fork x:x --flag x=… --dry-run": "no flag was evaluated there",
    "reenact resume x": "it was not killed: tests/resume/test_resume_points.py",
    "reenact resume x --settle retry": "nothing is in doubt there: tests/resume/test_doubts.py",
    "reenact resume x --settle done --result x='x'": "nothing is in doubt there: tests/resume/test_doubts.py",
}
"""What is typed with another run by a test of its own, and is refused on this desk, with a command that leads on."""


def filled(shape: str, names: dict[str, str]) -> str:
    """A proposed command, as it is typed on the desk."""
    command = OWN.get(shape, shape)
    for pattern, instead in RULES:
        command = re.sub(pattern, instead, command)
    for word, run in (("FAILED", names["failed"]), ("OK", names["ok"]), ("GROUP", names.get("group", ""))):
        command = re.sub(rf"\b{word}\b", run, command)
    return command


def shapes() -> list[str]:
    """Every command that the sources propose, once."""
    handed_on = {"", STAND_IN}
    return sorted({text for _, text in proposed(CHECKOUT)} - handed_on)


SHAPES = shapes()


def test_what_is_named_here_is_proposed_somewhere() -> None:
    assert set(SHAPES) >= {*ELSEWHERE, *OWN, *REFUSED}
    for where in ELSEWHERE.values():
        assert (CHECKOUT / where).exists(), where


TYPED = [
    text
    for text in SHAPES
    if text not in ELSEWHERE and text.split()[0] not in SYSTEM and not text.endswith("--help")  # is parsed beside this
]


@pytest.mark.parametrize("shape", TYPED)
def test_it_is_typed_and_leads_on(desk: Typing, shape: str) -> None:
    if "--group" in shape:
        said = desk.typed("reenact triage --json", 0)
        (desk.names["group"], *_) = re.findall(r'"fingerprint": ?"(\w+)"', said)
    command = filled(shape, desk.names)
    done = desk.type(command)
    told = f"{command}: {done.code}\n{done.text[-500:]}\n{done.told}"
    assert OURS not in done.told, told
    following = [line.partition("next: ")[2] for line in done.told.splitlines() if "next: " in line]
    if done.code in (2, 4) or shape in REFUSED:
        assert shape in REFUSED and done.code == 2, told
    assert command not in following or done.code == 0, f"a circle: {told}"
    if done.code not in (0, 1):
        assert following, told


def test_a_failed_golden_that_lacks_nothing_leads_to_its_incident(desk: Typing) -> None:
    said = desk.typed("reenact golden run kept --mode missing", 1)
    assert "nothing was missing" in said
    assert said.rpartition("next: ")[2].strip() == "reenact show tests/goldens/kept.reenact"


BEGINNINGS = (
    *("ls", "ls --cold", "show @failed", "show OK:0", "replay OK", "replay @failed", "kit", "kit OK", "triage", "fsck"),
    *("stats", "stats --by mark", "mark", "timeline @failed", "diff OK FAILED", "tag OK owner=ann", "doctor", "config"),
    *("replay OK --events", "replay OK --save", "golden run kept --mode missing", "show tests/goldens/kept.reenact"),
    *("flag OK 'a wrong answer'", "gc --dry-run", "golden ls", "golden drift kept", "golden run kept", "salvage -o s2"),
    *("resend OK:0 --dry-run", "import har 'my run.har' --dry-run", "unpack 'my run.reenact'", "init", "resume OK"),
    *(
        "pack OK -o more.reenact",
        "show 'my run.reenact'",
        "migrate --dry-run",
        "fork OK:1",
        "experiment --where \"status == 'failed'\" --candidate now:",
    ),
)
_ENDS = re.compile(r"--help|\bserve\b|\b[A-Z]{4,}\b|agent\.py|…")
"""What a person has to fill in or to choose first."""
_STEPS = 10


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_what_follows_never_leads_back(desk: Typing, beginning: str) -> None:
    command = filled(f"reenact {beginning}", desk.names)
    walked: list[str] = []
    while command and command.startswith("reenact ") and not (walked and _ENDS.search(command)):
        assert command not in walked, f"a circle: {' -> '.join([*walked, command])}"
        walked.append(command)
        assert len(walked) <= _STEPS, f"it never ends: {' -> '.join(walked)}"
        done = desk.type(command)
        assert OURS not in done.told, f"{command}: {done.told}"
        assert len(walked) == 1 or done.code != 2, f"{' -> '.join(walked)}: {done.told}"
        following = [line.partition("next: ")[2] for line in done.told.splitlines() if "next: " in line]
        command = following[-1] if following else ""
    assert len(walked) > 1 or command, f"{walked} leads nowhere"
