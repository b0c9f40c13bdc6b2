"""``reenact timeline``: shows the state of a run at any event, and what changed it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import click

from reenact.errors import UsageError
from reenact.facts.call import Json, Kind
from reenact.facts.difference import Difference, patch, render
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.interfaces.cli.arguments import reference
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current, paint
from reenact.timetravel import preview
from reenact.timetravel.authorship import ABSENT, ValueOrigin
from reenact.timetravel.event_line import event_text
from reenact.timetravel.json_views import event_data
from reenact.timetravel.model_readings import decides, model_name
from reenact.timetravel.timeline import Changes, Moment, Timeline

_WIDTH = 160
_SHOWN = 4
_MESSAGES = 12


@click.command(
    cls=Command,
    name="timeline",
    short_help="the state at any event, and what changed it",
    example="""
    reenact timeline 7f3c --at search_docs#2
    reenact timeline 7f3c --last-set docs
    reenact timeline 7f3c --watch "status == 429 or len(state['docs']) > 3"
    """,
)
@click.argument("ref", default="@")
@click.option(
    "--at", metavar="EVENT", help="State, messages and model at an event; with --last-set: look back from this event."
)
@click.option("--changed", metavar="EVENT", help="What changed at an event.")
@click.option("--last-set", metavar="PATH", help="The event that set a value of the state last: docs, or docs.0.title.")
@click.option("--watch", metavar="EXPR", help="Each event for which an expression is true, as it is found.")
@click.pass_context
def command(
    ctx: click.Context, ref: str, at: str | None, changed: str | None, last_set: str | None, watch: str | None
) -> None:
    """Move in REF (default: @, the last run): the state at any event, and what changed it.

    Without an option: every event that changed the state; for a run without steps, how the conversation grew. An EVENT
    is a number, or a name with a count (search_docs#2). REF:4..9 looks only at those events.

    \b
    Names in --watch:
      answer args cost duration effect error kind lane model name
      number result state status tenant tokens user
    """
    shell = current(ctx)
    wanted = reference(ref)
    if wanted.field:
        raise UsageError(
            f"{ref} names a field", cause="a timeline is of a run", next_command=f"reenact cat {shlex.quote(ref)}"
        )
    if wanted.event and at is None:
        at = wanted.event
    with opened(shell, ref) as store:
        timeline = Timeline(store.open(store.run(wanted.run)))
        if watch is not None:
            _watch(shell, timeline, watch, wanted.stretch or (0, None))
        if changed is not None:
            _changed(shell, timeline.changed(changed))
        if last_set is not None:
            _last_set(shell, timeline.last_set(last_set, at=at), tail(timeline.run.id))
        elif at is not None:
            _at(shell, timeline.at(at))
        elif watch is None and changed is None:
            _overview(shell, timeline, wanted.stretch or (0, None))


def _watch(shell: Shell, timeline: Timeline, expression: str, stretch: tuple[int, int | None]) -> None:
    """Print each hit when it is found. The next command shows the first hit."""
    first, last = stretch
    hits = timeline.watch(expression, after=first - 1, before=None if last is None else last + 1)
    met: Event | None = None
    for event in hits:
        met = met or event
        if shell.json:
            shell.line({"type": "hit"} | event_data(event))
        else:
            shell.data(_event_line(timeline, event))
    run = tail(timeline.run.id)
    if met is None and not shell.json:
        shell.talk("it is true at no event")
    shell.next(f"reenact show {run}" if met is None else f"reenact timeline {run} --at {met.number}")


def _event_line(timeline: Timeline, event: Event) -> str:
    text = event_text(timeline.recording, event)
    name = model_name(event) if decides(event) else event.name
    return preview.clip(f"{event.number:>9}  {event.kind:<9} {preview.safe(name):<20} {text}".rstrip(), _WIDTH)


def _at(shell: Shell, moment: Moment) -> None:
    event, step = moment.event, moment.step
    run = tail(event.run)
    if shell.json:
        shell.line(
            {"type": "moment", "run": event.run, "event": event.number, "kind": event.kind, "name": event.name}
            | {"step": None if step is None else {"event": step.number, "name": step.name}}
            | {"state": moment.state, "messages": list(moment.messages), "model": dict(moment.model_config)}
        )
        return
    shell.lines(_moment_lines(moment))
    shell.next(f"reenact timeline {run} --changed {event.number}")


def _moment_lines(moment: Moment) -> Iterator[str]:
    event, step = moment.event, moment.step
    yield paint(f"#{event.number}  {event.kind}  {preview.safe(event.name)}", bold=True)
    if step is not None and step.number != event.number:
        yield f"  step      #{step.number} {preview.safe(step.name)}"
    yield f"  state     {preview.brief(moment.state, _WIDTH)}" if moment.state is not None else "  state     none kept"
    if moment.model_config:
        yield f"  model     {preview.brief(moment.model_config, _WIDTH)}"
    messages = moment.messages
    yield f"  messages  {len(messages)}"
    if len(messages) > _MESSAGES:
        yield f"    … {len(messages) - _MESSAGES} before these"
    yield from (f"    {_message(message)}" for message in messages[-_MESSAGES:])


def _message(message: Json) -> str:
    if not isinstance(message, dict):
        return preview.brief(message, _WIDTH)
    said = preview.safe(str(message.get("text") or ""))
    asked = ", ".join(
        preview.call_text(str(call.get("name", "")), call.get("arguments"), 80)
        for call in message.get("tool_calls") or ()
    )
    results = ", ".join(preview.safe(str(each.get("text", ""))) for each in message.get("tool_results") or ())
    return preview.clip(
        f"{message.get('role', '')!s:<10} {' '.join(part for part in (said, asked, results) if part)}", _WIDTH
    )


def _changed(shell: Shell, changes: Changes) -> None:
    event = changes.event
    if shell.json:
        decision = changes.decision
        shell.line(
            {"type": "changes", "run": event.run, "event": event.number, "kind": event.kind, "name": event.name}
            | {"state": patch(changes.state), "since": patch(changes.since), "messages": list(changes.messages)}
            | {"decision": None if decision is None else _decision(changes)}
            | ({"unproven": changes.unproven} if changes.unproven else {})
        )
        return
    shell.lines(_changed_lines(changes))
    shell.next(f"reenact show {tail(event.run)}:{event.number}")


def _decision(changes: Changes) -> Json:
    decision = changes.decision
    assert decision is not None
    calls = [{"name": name, "arguments": arguments} for name, arguments in decision.tools]
    return {"tool_calls": calls, "text": decision.text, "finish": decision.finish}


def _changed_lines(changes: Changes) -> Iterator[str]:
    event = changes.event
    yield paint(f"#{event.number}  {event.kind}  {preview.safe(event.name)}", bold=True)
    if changes.since:
        yield "  changed before it began, since the last state:"
        yield from _differences(changes.since)
    if changes.state:
        yield "  changed by it:"
        yield from _differences(changes.state)
    if changes.messages:
        yield f"  the conversation grew by {len(changes.messages)}:"
        yield from (f"    {_message(message)}" for message in changes.messages)
    if changes.decision is not None:
        yield f"  decided   {preview.brief(_decision(changes), _WIDTH)}"
    if changes.unproven:
        yield f"  {preview.safe(changes.unproven)}"
    elif not (changes.since or changes.state or changes.messages or changes.decision):
        known = "its state did not change" if event.kind == Kind.STEP else "no state is kept here: steps keep it"
        yield f"  nothing changed: {known}"


def _differences(found: Sequence[Difference]) -> Iterator[str]:
    return (f"    {preview.safe(line)}" for line in render(found, most=20).splitlines())


def _last_set(shell: Shell, setting: ValueOrigin, run: str) -> None:
    event = setting.event
    if shell.json:
        before = {} if setting.before is ABSENT else {"before": setting.before}
        shell.line(
            {"type": "setting", "run": event.run, "path": setting.path, "event": event.number, "name": event.name}
            | {"inside": setting.inside, "since": setting.since, "source": event.call.source}
            | {**before, "after": setting.after}
        )
        return
    was = "there was nothing" if setting.before is ABSENT else f"it was {preview.brief(setting.before, 60)}"
    shell.data(f"{preview.safe(setting.path)} = {preview.brief(setting.after, 100)}")
    where = f"  ({preview.safe(event.call.source)})" if event.call.source else ""
    if setting.inside:
        shell.data(f"  set by #{event.number} {preview.safe(event.name)}{where}; before, {was}")
    elif setting.since is None:
        shell.data(f"  there from the first: #{event.number} {preview.safe(event.name)} was given it{where}")
    else:
        shell.data(f"  set after #{setting.since} and before #{event.number} {preview.safe(event.name)}{where}; {was}")
    shell.next(f"reenact timeline {run} --changed {event.number}")


def _overview(shell: Shell, timeline: Timeline, stretch: tuple[int, int | None]) -> None:
    first, last = stretch
    recording = timeline.recording
    stepped = next(recording.snapshots(), None) is not None
    kinds = (Kind.STEP,) if stepped else (Kind.MODEL, Kind.HTTP)
    shown: Event | None = None
    for event in recording.events(kinds=kinds, after=first - 1, before=None if last is None else last + 1):
        if not (stepped or decides(event)):
            continue
        changes = timeline.changed(event.number)
        if shell.json:
            _changed(shell, changes)
            continue
        line = _summary(timeline, changes)
        if line:
            shell.data(line)
            shown = event
    run = tail(timeline.run.id)
    if shown is None and not shell.json:
        shell.talk("the state never changed" if stepped else "no state was kept, and no model was asked")
    shell.next(f"reenact show {run}" if shown is None else f"reenact timeline {run} --changed {shown.number}")


def _summary(timeline: Timeline, changes: Changes) -> str:
    """One line of the overview; empty if nothing changed."""
    event = changes.event
    if event.kind == Kind.STEP:
        found = [*changes.since, *changes.state]
        parts = [preview.safe(line) for line in render(found, most=_SHOWN, width=60).splitlines()]
        if not parts and not changes.unproven:
            return ""
        text = "; ".join(parts) or "its state is not proven"
        return preview.clip(f"{event.number:>9}  {preview.safe(event.name):<20} {text}", _WIDTH)
    grew = f"+{len(changes.messages)} messages" if changes.messages else "the same messages"
    said = event_text(timeline.recording, event)
    return preview.clip(f"{event.number:>9}  {preview.safe(model_name(event)):<20} {grew}  {said}", _WIDTH)
