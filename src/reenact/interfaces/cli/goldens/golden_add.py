"""``reenact golden add``: makes a regression test of a run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import asdict, replace
from reenact.interfaces.cli.arguments import whole_run
from reenact.interfaces.cli.commands.pack import tell_findings
from reenact.interfaces.cli.run_opening import opened, said_around
from reenact.interfaces.cli.shell import Command, Shell, again, current
from reenact.testing.expectations.expectation import expect
from reenact.testing.goldens.adding import AddedGolden, add_golden
from reenact.testing.goldens.golden_dir import GoldenDir, open_golden_dir
from reenact.testing.goldens.golden_of_import import JUDGED
from reenact.testing.goldens.golden_trace import ON_MISS, Golden, OnMiss, ScriptedAnswer, forking
from reenact.testing.goldens.testfile import add_test
from reenact.timetravel.preview import safe

_FEW = 6
"""The most answers whose names are listed."""


@click.command(
    cls=Command,
    name="add",
    short_help="turn a run into a regression test",
    example="""
    reenact golden add @failed --as refund-loop --expect 'calls(search_docs) <= 3'
    reenact golden add @ --as polite --holds '"sorry" not in answer'
    reenact golden run refund-loop
    """,
)
@click.argument("ref")
@click.option("--as", "name", metavar="NAME", required=True, help="Its name: letters, digits, . - _ and / for folders.")
@click.option("--about", metavar="TEXT", default="", help="What went wrong.")
@click.option("--expected", metavar="TEXT", default="", help="What should have happened.")
@click.option("--expect", "expect_", metavar="EXPR", multiple=True, help="What must hold; it must fail on REF.")
@click.option("--holds", metavar="EXPR", multiple=True, help="What holds on REF, and must stay so.")
@click.option("--fixed", metavar="FORK", help="The fork that fixed it; what is expected must hold on it.")
@click.option(
    "--on-miss",
    type=click.Choice(ON_MISS),
    help="A call without a recorded answer: the golden is stale (default), it goes live if it reads, or --answer.",
)
@click.option(
    "--answer",
    metavar="CALL=@FILE",
    multiple=True,
    help="A scripted answer for calls of that name: JSON; several are given in this order.",
)
@click.option("--cmd", metavar="CMD", help="Of an imported run: the command line of the agent that it answers.")
@click.option("--entry", metavar="MODULE:FUNCTION", default="", help="Of an imported run: the function to call.")
@click.option("--no-test", is_flag=True, help="Write the bundle only, and no test into tests/test_goldens.py.")
@click.option("--force", is_flag=True, help="Replace a golden of that name.")
@click.pass_context
def command(
    ctx: click.Context, /, ref: str, name: str, expect_: tuple[str, ...], fixed: str | None, **how: Any
) -> None:
    """Keep run REF as tests/goldens/NAME.reenact, and a test that fails until the mistake in REF is mended.

    Each --expect is an expression over a run, as for `ls --where`, and must fail on REF: one that holds already is no
    test, and is refused. Each --holds is one that is true of REF, and must stay so; it goes alone or beside --expect.
    Recorded answers that none of them names are listed. Without --expect, --holds and --fixed, the golden must replay
    without a difference, also today. A run whose process was ended from outside needs one of them, and is judged at the
    place where it ended.

    Before the bundle is stored it is replayed on the code that REF ran: the files as they are, or, in a git worktree,
    the commit of REF with its uncommitted changes. A golden that this code passes is refused. This happens if the fork
    of --fixed changed an answer, and not the code. Files that git does not hold are named, and the golden is *not
    proven on the recorded code*. Then today's code runs on it, fixed or not. That takes at most three replays. A model
    that judges (`judge(…)`) is asked once about each answer, and what it says is kept in the bundle.

    If the fixed code makes model calls that are not recorded, `golden run NAME --mode missing` records them. Or name a
    fork of the fixed code with --fixed: the golden then uses its answers.

    An imported run knows no program: --cmd or --entry names one that lies in this project, and the import answers it.
    There is no commit to go back to, so what is expected is judged on the trace: --expect must fail, and --holds hold,
    on the imported answer. A cassette without a model call has none.

    A scripted --answer is JSON. The answer of a model is {"say": TEXT, "uses": [{"name": TOOL, "args": {…}}]}, for
    every protocol, as for `fork --result`.
    """
    shell = current(ctx)
    golden = _golden(name, **{option: how[option] for option in ("about", "expected", "on_miss", "answer")})
    wanted, held = ([expect(text).to_json() for text in each] for each in (expect_, how["holds"]))
    golden = replace(golden, expect=tuple(wanted), holds=tuple(held), **program_of(how))
    golden_dir = open_golden_dir()
    with opened(shell, ref) as store:
        run = store.run(whole_run(ref))
        said_around(shell, store, run)
        mended = _fixed(store, fixed)
        added = add_golden(
            store,
            run,
            golden,
            golden_dir,
            adding=partial(again, ctx, ref=tail(run.id), **({"fixed": tail(mended.id)} if mended else {})),
            fixed=mended,
            replace_it=how["force"],
            say=lambda line: shell.talk(f"reenact: {line}"),
        )
    test = None if how["no_test"] else add_test(golden_dir, name)
    _tell(shell, golden_dir, added, test, again(ctx, ref=tail(run.id), fixed="@", force=True))


def _golden(name: str, about: str, expected: str, on_miss: OnMiss | None, answer: tuple[str, ...]) -> Golden:
    scripted = tuple(_scripted(each) for each in answer)
    on_miss = on_miss or ("scripted" if scripted else "fail")
    return Golden(name, about=about, expected=expected, on_miss=on_miss, answers=scripted)


def program_of(how: Mapping[str, Any]) -> dict[str, Any]:
    """The program of an imported run, which ``--cmd`` or ``--entry`` names, as the items ``command`` and ``entry``.

    Raises:
        UsageError: Both options are given, or an option cannot be read.
    """
    cmd, entry = how["cmd"], how["entry"]
    try:
        command = tuple(shlex.split(cmd)) if cmd is not None else ()
    except ValueError as error:
        raise UsageError(
            f"--cmd cannot be split into words: {error}",
            cause="a missing quote",
            next_command="reenact golden add --help",
        ) from None
    if (command and entry) or (entry and ":" not in entry):
        raise UsageError(
            "--cmd and --entry exclude each other" if command else f"{entry!r} is no entry point",
            cause="one of them starts the agent" if command else "it is written MODULE:FUNCTION",
            next_command="reenact golden add --help",
        )
    return {"command": command, "entry": entry}


def _fixed(store: Store, ref: str | None) -> Any:
    return None if ref is None else store.run(whole_run(ref))


def _scripted(text: str) -> ScriptedAnswer:
    """The answer from a text ``CALL=@FILE`` or ``CALL=JSON``. A model's answer is ``{"say": TEXT, "uses": [{"name": …,
    "args": {…}}]}``.

    Raises:
        UsageError: The text has neither form, or the file cannot be read.
    """
    call, sign, value = text.rpartition("=@") if "=@" in text else text.partition("=")
    value = "@" + value if sign == "=@" else value
    if not sign or not call.strip() or not value:
        raise _refused(text, "an answer is CALL=@FILE, or CALL=JSON")
    if not value.startswith("@"):
        return ScriptedAnswer(call.strip(), _parsed(value, text))
    try:
        return ScriptedAnswer(call.strip(), _parsed(Path(value[1:]).read_text(encoding="utf-8"), text))
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(text, f"{value[1:]} cannot be read: {error}") from None


def _parsed(text: str, option: str) -> Json:
    try:
        found: Json = json.loads(text)
    except ValueError as error:
        why = "replace JSON by the answer of the call" if text == "JSON" else f"it is no JSON: {error}"
        raise _refused(option, why) from None
    return found


def _refused(text: str, why: str) -> UsageError:
    return UsageError(f"--answer {text} is no answer", cause=why, next_command="reenact golden add --help")


def _tell(shell: Shell, golden_dir: GoldenDir, added: AddedGolden, test: str | None, again: str) -> None:
    now = added.now
    if shell.json:
        shell.line(
            {
                "golden": added.golden.to_json(),
                "file": golden_dir.shown(added.path),
                "test": test,
                "run": added.packed.runs[0],
                "now": now.to_json(),
                "code": added.code,
                "unnamed": [asdict(each) for each in added.unnamed],
                "printed": added.printed,
                "unknown": added.unknown,
                "forked": added.forked,
                "mended": added.mended,
                "removed": [place for _, place in added.packed.removed],
            }
        )
        return
    wrote = golden_dir.shown(added.path) + (f" and {test}" if test else "")
    shell.data(f"{wrote}: run {tail(added.packed.runs[0])}, {-(-added.size // 1024)} KiB")
    tell_findings(shell, added.packed)
    if now.opinions.get("judged"):
        shell.talk(f"reenact: opinions of models that judge, kept beside it: {added.opinions}")
    _tell_proof(shell, added)
    for said in filter(None, (added.mended, added.forked, added.unknown, added.printed)):
        shell.talk(f"reenact: {safe(said)}")
    if added.unnamed:
        named = "; ".join(map(str, added.unnamed[:_FEW]))
        more = f"; and {len(added.unnamed) - _FEW} more" if len(added.unnamed) > _FEW else ""
        shell.talk(f"reenact: answers that no --expect and no --holds names: {safe(named + more)}")
    if added.golden.any_seed is False:
        shell.talk("reenact: its outcome depends on the hash seed: it always runs in an interpreter of its own")
    if now.status in ("passed", "failed"):
        name = shlex.quote(added.golden.name)
        shell.next(now.next_command if now.blind_spot and now.next_command else f"reenact golden run {name}")
        return
    _tell_ways(shell, added, again)


def _tell_ways(shell: Shell, added: AddedGolden, again: str) -> None:
    """Print the ways in which a stale golden gets its missing answers. The next command is a way that needs no
    editing."""
    run, now = tail(added.packed.runs[0]), added.now
    written = "--answer" in now.next_command
    if written:  # this command was made by the golden, which does not know --no-test
        command = now.next_command + " --no-test" * ("--no-test" in again.split())
        shell.talk(f"reenact: write the answer of {safe(now.stale_at)} yourself, in place of JSON:\n  {command}")
    calls = f" ({', '.join(map(safe, added.writes))} may be called)" if added.writes else ""
    either = "or let" if written else "let"
    shell.talk(f"reenact: {either} a fork of today's code record its answers{calls}, and give it to the golden:")
    shell.talk(f"  {shell.called(forking(run, added.writes))}\n  {shell.called(again)}")
    if written:
        shell.next(forking(run, added.writes))
    else:
        shell.next(now.next_command or f"reenact golden run {shlex.quote(added.golden.name)}")


def _tell_proof(shell: Shell, added: AddedGolden) -> None:
    """Print the result of the golden on the recorded code, and on today's."""
    golden, now = added.golden, added.now
    if golden.starts and golden.judged:
        parts = ["--expect fails"] * bool(golden.expect) + ["--holds holds"] * bool(golden.holds)
        shell.talk(f"reenact: {JUDGED}: {' and '.join(parts)} on the imported answer, as it must")
    if golden.proven is False:
        shell.talk(f"reenact: not proven on the recorded code: {safe(golden.unproven)}")
    elif added.code:
        came = "it fails there, as it must" if golden.expect or not golden.holds else "it holds there"
        shell.talk(f"reenact: proven on the recorded code, {added.code}: {came}")
    if now.status == "passed":
        shell.talk(f"reenact: passes on today's code: {now.crossed}")
        if now.blind_spot:
            shell.talk(f"reenact: {safe(now.blind_spot)}")
        return
    first = (now.message or "it differs").splitlines()[0]
    as_it_should = ", as it should until you fix it" if golden.expect and not now.lacks_only_an_end else ""
    how = f"it is {now.status} now" if now.status != "failed" else f"fails on today's code{as_it_should}"
    first = first.removeprefix(f"golden {golden.name} is {now.status}: ")
    shell.talk(f"reenact: {how}: {safe(first)}  ({now.crossed})")
    if now.blind_spot:
        shell.talk(f"reenact: {safe(now.blind_spot)}")
