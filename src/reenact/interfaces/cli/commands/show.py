"""``reenact show``: shows a run as a story, or one event in detail."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING

import click

from reenact.abc.store import Recording, Store
from reenact.abc.suspicion_rules import rules_in_force
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.phrases import counted
from reenact.facts.run import RESEND, Run
from reenact.facts.thinned_runs import why_thinned
from reenact.interfaces.cli.arguments import reference
from reenact.interfaces.cli.detail import event_lines, onward
from reenact.interfaces.cli.expires import ExpiryDates
from reenact.interfaces.cli.goldens.history_lines import history_lines
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.run_outcome import outcome
from reenact.interfaces.cli.shell import Command, Shell, columns, current, paint, wrapped
from reenact.interfaces.cli.wrong_step import hint_data, hint_lines, pointed, pointed_data, pointed_lines
from reenact.testing.goldens.golden_trace import Golden
from reenact.timetravel import preview
from reenact.timetravel.cost import prices, run_cost
from reenact.timetravel.gist import answer_of, command_of, error_of_run, question_of
from reenact.timetravel.json_views import run_data
from reenact.timetravel.lineage import draw, origin, whole_lineage
from reenact.timetravel.priced_runs import priced_event, priced_run
from reenact.timetravel.reference_syntax import Reference
from reenact.timetravel.step_view import shown_state, step_data, steps_of
from reenact.timetravel.story import SPENT, WIDTH, StoryLine, tell
from reenact.timetravel.suspicion_marks import SuspicionLook, look, mark_of, marked, marks_data

if TYPE_CHECKING:
    from reenact.store.bundles import BundleStore
    from reenact.timetravel.forks.fork_command import allowing
else:
    BundleStore = late("reenact.store.bundles", "BundleStore")
    allowing = late("reenact.timetravel.forks.fork_command", "allowing")

_STRAND = 18
"""The most characters of the column for lanes."""
_NARROW = 40


@dataclass(frozen=True, slots=True)
class _View:
    """The options of ``show``: whether to show everything, states, one line for the whole run, or child runs; and
    whether to ask a model's opinion."""

    everything: bool
    state: bool
    oneline: bool
    tree: bool
    judge: str
    live: bool


@click.command(
    cls=Command,
    name="show",
    short_help="a run as a story, or one event in detail",
    example="""
    reenact show @failed
    reenact show 7f3c:search_docs#2
    reenact --json show 7f3c:4..9
    """,
)
@click.argument("ref", default="@")
@click.option("--all", "everything", is_flag=True, help="Fold nothing.")
@click.option("--state", is_flag=True, help="The steps, with the state each was given and left.")
@click.option("--oneline", is_flag=True, help="One line for the whole run.")
@click.option("--tree", is_flag=True, help="As a graph: the lineage of the run, forks, kept replays and child runs.")
@click.option("--judge", metavar="MODEL", default="", help="Also ask a model which step decided a failure.")
@click.option(
    "--live", is_flag=True, help="With --judge: ask the model if no answer is kept. Its price is printed first."
)
@click.pass_context
def command(ctx: click.Context, /, ref: str, judge: str, live: bool, **shown: bool) -> None:
    """Show REF (default: @, the last run) as a story: one line an event.

    Ambient events and repeats are folded; suspicious events are marked with <-. REF:12 or REF:search_docs#2 shows one
    event in detail, REF:4..9 a stretch.

    A failed run ends with a hint: the steps that most likely caused the failure. --judge MODEL (openai/NAME,
    anthropic/NAME) adds the opinion of a model. If none is stored, --live asks the model, after printing what is sent,
    where to, and the price. That exchange is kept as a run of the agent judge.
    """
    shell = current(ctx)
    wanted = reference(ref)
    if live and not judge:
        raise UsageError(
            "--live has nothing to ask",
            cause="show asks a model only with --judge",
            next_command=f"reenact show {shlex.quote(ref)} --judge openai/gpt-4o-mini",
        )
    if wanted.field:
        raise UsageError(
            f"{ref} names a field", cause="show prints events and runs", next_command=f"reenact cat {shlex.quote(ref)}"
        )
    with opened(shell, ref) as store:
        if wanted.event:
            _event(shell, store, wanted)
        else:
            _run(shell, store, wanted, _View(**shown, judge=judge, live=live))


def _event(shell: Shell, store: Store, wanted: Reference) -> None:
    event = store.event(wanted.event_ref)
    recording = store.open(event.run)
    marks = marked(recording, rules_in_force())
    if shell.json:
        shell.line(
            priced_event(recording, event)
            | marks_data(marks, event.number)
            | {"state": shown_state(recording, event.number)}
        )
        return
    shell.lines(event_lines(recording, event, mark_of(marks.get(event.number, ()))))
    shell.next(onward(event))


def _run(shell: Shell, store: Store, wanted: Reference, view: _View) -> None:
    run = store.run(wanted.run)
    recording = store.open(run)
    whole = not (view.oneline or view.state or wanted.stretch)
    said = pointed(shell, store, recording, view.judge, view.live) if view.judge and whole else None
    if view.tree:
        _tree(shell, store, run)
    elif shell.json:
        seen = None if view.oneline or view.state else look(recording, rules_in_force())
        _json(shell, recording, wanted.stretch, view, ExpiryDates(store).data(run), seen)
        hint = hint_data(store, run, seen) if whole and seen is not None else None
        for line in (hint, None if said is None else pointed_data(said, view.judge)):
            if line is not None:
                shell.line(line)
        golden = _said(store)
        if golden is not None and not view.oneline:
            shell.line({"type": "golden"} | golden.to_json())
    elif view.oneline:
        shell.data(headline(run, width=columns()))
    else:
        seen = None if view.state else look(recording, rules_in_force())
        shell.lines(
            chain(
                _text(recording, wanted.stretch, view, seen),
                hint_lines(store, run, seen) if whole and seen is not None else (),
                pointed_lines(said, view.judge) if said is not None else (),
                _thinned(run),
                _expires(store, run, wanted, view),
                _golden(store),
            )
        )
    shell.next((allowing(store, run) if run.relation == "fork" else "") or _next_command(run, view))


def _said(store: Store) -> Golden | None:
    """The golden that was opened; None if a run of a store was opened."""
    said = store.bundle.golden if isinstance(store, BundleStore) else None
    return None if said is None else Golden.from_json(said)


def _golden(store: Store) -> Iterator[str]:
    """The lines on a golden, printed after its run."""
    golden = _said(store)
    if golden is None:
        return
    yield paint(preview.safe(f"golden {golden.name}"), bold=True)
    yield from (f"  {line}" for line in history_lines(golden))


def _next_command(run: Run, view: _View) -> str:
    """The next command for a run; empty for a block of code that cannot be replayed and was shown in full."""
    if is_imported(run):
        return f"reenact replay {tail(run.id)} --cmd 'python agent.py'"
    if run.relation == RESEND:
        return f"reenact cat {tail(run.id)}:0.response.body"
    if why_thinned(run):
        return f"reenact kit {tail(run.id)}"
    if run.entry.kind == "block":
        return "" if view.state else f"reenact show {tail(run.id)} --state"
    if run.interrupted_at is not None and not run.relation:  # killed: a replay would stop at the calls that were open
        return f"reenact resume {tail(run.id)}"
    return f"reenact replay {tail(run.id)}"


def _thinned(run: Run) -> Iterator[str]:
    """The line that says why a thinned run has no bodies any more."""
    why = why_thinned(run)
    if why:
        said = f"  thinned   {preview.safe(why)}: of each body only size and digest are kept, so it cannot be replayed"
        yield paint(preview.clip(said, columns()), dim=True)


def _expires(store: Store, run: Run, wanted: Reference, view: _View) -> Iterator[str]:
    """The line at the end of a story that says when the run expires."""
    text = "" if wanted.stretch or view.state else ExpiryDates(store).line(run)
    if text:
        yield paint(preview.clip(f"  expires   {preview.safe(text)}", columns()), dim=True)


def _json(
    shell: Shell,
    recording: Recording,
    stretch: tuple[int, int] | None,
    view: _View,
    expires: Mapping[str, Json],
    seen: SuspicionLook | None,
) -> None:
    """Print the run, then its steps or events, each as one JSON line; nothing is folded."""
    shell.line({"type": "run"} | priced_run(recording) | dict(expires))
    if view.state and not view.oneline:
        for step in steps_of(recording, shown=True):
            shell.line({"type": "step"} | step_data(step))
    if seen is None:
        return
    first, last = stretch or (0, None)
    marks = seen.marks
    for event in recording.events(after=first - 1):
        if last is not None and event.number > last:
            return
        shell.line({"type": "event"} | priced_event(recording, event) | marks_data(marks, event.number))


def _text(
    recording: Recording, stretch: tuple[int, int] | None, view: _View, seen: SuspicionLook | None
) -> Iterator[str]:
    cost = run_cost(recording, prices() if recording.run.totals.models else None)
    run, width, whole = recording.run, columns(), stretch is None and not view.state
    yield paint(headline(run, cost, told=whole, width=width), bold=True)
    if whole:
        yield from _asked(recording, width)
    for reason in recording.run.degraded:
        yield paint(f"  degraded: {preview.safe(reason)}", fg="yellow")
    if view.state:
        yield from _steps(recording, width)
        return
    marks = seen.marks if seen is not None else None
    lines = list(tell(recording, everything=view.everything, stretch=stretch, width=width, marks=marks))
    strands = min(max((len(line.strand) for line in lines), default=0), _STRAND)
    for line in lines:
        yield story_line(line, width, strands)
    for what, place, count in recording.gaps():
        yield paint(f"  gap  {preview.safe(what)} at {preview.safe(place)}, {counted(count, 'time')}", fg="yellow")
    if whole:
        yield from _ended(recording, width)


def _asked(recording: Recording, width: int) -> Iterator[str]:
    """The lines with the run's command line, and the question of its user."""
    run, question = recording.run, question_of(recording)
    command = "" if run.entry.kind == "request" else command_of(run)
    if run.entry.kind == "request":
        yield preview.clip(f"  request   {preview.safe(run.entry.target)}", width)
    if command:
        yield preview.clip(f"  command   {command}", width)
    if question:
        yield preview.clip(f"  question  {question}", width)


def _ended(recording: Recording, width: int) -> Iterator[str]:
    """The line on the end of the run: its answer, or the exception with the line of the agent's code."""
    run = recording.run
    if run.interrupted_at is not None:
        yield paint(f"  ended     interrupted at #{run.interrupted_at}", fg="yellow")
    elif error := error_of_run(run):
        yield from (paint(line, fg="red") for line in wrapped("  error     ", error, width))
    elif answer := answer_of(recording):
        yield preview.clip(f"  answer    {answer}", width)


def headline(
    run: Run, cost: Decimal | None = None, *, drawn: bool = False, told: bool = False, width: int = WIDTH
) -> str:
    """A run in one line: id, agent, outcome, events, time, cost, lineage, labels.

    Args:
        run: The run.
        cost: The cost in dollars; None where it is not known.
        drawn: Leave the parent out, because it is shown above.
        told: Leave the error out, because it is shown below.
        width: The most characters.
    """
    parts = [tail(run.id)]
    if run.agent:
        parts.append(run.agent + (f"@{run.version}" if run.version else ""))
    if run.route and not told:
        parts.append(run.route)
    parts.append(outcome(run, told=told))
    parts.append(counted(run.totals.events, "event"))
    if run.lasted_us is not None:
        parts.append(preview.duration(run.lasted_us))
    if cost is not None:
        parts.append(f"${preview.amount(cost)}")
    if run.parent:
        parts.append(origin(run, drawn=drawn))
    parts += [f"{key}={value}" for key, value in run.tags.items()]
    if run.flag:
        parts.append(f'flag "{run.flag}"')
    return preview.clip("  ".join(preview.safe(part) for part in parts), width)


def story_line(line: StoryLine, width: int = WIDTH, strands: int = 0) -> str:
    """One line of the story as text.

    Args:
        line: The line.
        width: The most characters.
        strands: The width of the column for lanes; 0 where there is only one lane.
    """
    numbers = str(line.first) if line.first == line.last else f"{line.first}..{line.last}"
    kind = "" if line.kind == "…" else line.kind
    indent = "  " * min(line.depth, 8)
    strand = f"{_cut(line.strand, strands):<{strands}}  " if strands else ""
    gap = "" if line.text.startswith("(") else " "
    name = line.name + gap if line.name else ""
    text = f"{numbers:>7}  {strand}{indent}{kind:<6} {name}{line.text}".rstrip()
    spent = ""
    if line.elapsed_us is not None and line.kind not in ("input", "output", "note"):
        spent = f"  ({preview.duration(line.elapsed_us)})"
    mark = f"   <- {preview.safe(line.mark)}" if line.mark else ""
    aside = max(len(spent), SPENT if spent else 0) + len(mark)
    text = preview.clip(text, max(width - aside, _NARROW)) + spent + mark
    return paint(text, fg="red" if line.mark.startswith("susp") else "yellow") if mark else text


def _cut(text: str, width: int) -> str:
    """The end of a lane's name, because names of lanes differ at their end."""
    return text if len(text) <= width else "…" + text[1 - width :]


def _steps(recording: Recording, width: int) -> Iterator[str]:
    """The lines on each step: its input state, decision, calls and output state."""
    for step in steps_of(recording, shown=True):
        name = preview.safe(step.name) or "(derived)"
        yield f"step {step.number}  {name}  #{step.first}..{step.last}  {preview.duration(step.duration_us)}"
        if step.input_state is not None:
            yield f"    in     {preview.brief(step.input_state, width)}"
        if step.decision is not None:
            yield f"    chose  {preview.brief(step.decision, width)}"
        for act in step.acts:
            result = act.error if act.error is not None else act.result
            called = preview.call_text(act.tool, act.arguments, width // 2)
            yield f"    #{act.event:<5} {called} -> {preview.brief(result, width // 2)}"
        if step.error is not None:
            yield paint(f"    error  {preview.brief(step.error, width)}", fg="red")
        if step.output_state is not None:
            yield f"    out    {preview.brief(step.output_state, width)}"


def _tree(shell: Shell, store: Store, run: Run) -> None:
    """Print the lineage of a run, from its oldest ancestor that is still stored."""
    for twig in draw(whole_lineage(store, run)):
        each = twig.run
        if shell.json:
            shell.line(run_data(each) | {"depth": twig.depth})
            continue
        text = f"{twig.drawn}* {headline(each, drawn=twig.depth > 0)}"
        shell.data(paint(f"{text}   <- this run", bold=True) if each.id == run.id and twig.drawn else text)
