"""``reenact resend``: sends one recorded model call again, as it was or with something changed."""

from __future__ import annotations

import hashlib
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import Any

import click

from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import EffectRefused, ReenactError, UnreplayableRun, UsageError
from reenact.facts.call import Json, Stream
from reenact.facts.dialects.recognition import read
from reenact.facts.event import Event, sent_call
from reenact.facts.ids import tail
from reenact.facts.reading import Reading
from reenact.facts.run import Run
from reenact.facts.shell_text import typed
from reenact.facts.trace_runs import is_traced_model, reading_in
from reenact.interfaces.cli.arguments import reference
from reenact.interfaces.cli.commands.fork import pairs, text_of, value
from reenact.interfaces.cli.progress import WorkProgress
from reenact.interfaces.cli.run_opening import opened, stored
from reenact.interfaces.cli.shell import Command, Shell, columns, current
from reenact.seams import trust
from reenact.seams.process_setting import variables_now
from reenact.timetravel.cost import prices, reading_cost
from reenact.timetravel.preview import amount, clip, duration, safe
from reenact.timetravel.resending.answer_comparison import distance, facts_of, tokens_of
from reenact.timetravel.resending.destination import ProviderSettings, ResendTarget, destination
from reenact.timetravel.resending.request import ModelRequest, changed, request_of, require_stateless
from reenact.timetravel.resending.request_sender import SendResult, send

_NO_PRICES = 'no price list is installed (pip install "reenact[cost]")'


@click.command(
    cls=Command,
    name="resend",
    short_help="send one model call again",
    example="""
    reenact resend @failed:4 --check
    reenact resend 7f3c:gpt-5.4#2 --n 5
    reenact resend @:4 --model gpt-5.4-mini --param temperature=0
    reenact resend @:4 --to http://127.0.0.1:11434/v1
    """,
)
@click.argument("ref")
@click.option("--model", metavar="NAME", help="Another model of the same protocol.")
@click.option("--prompt", metavar="TEXT|@FILE", help="Another system prompt.")
@click.option("--param", metavar="K=V", multiple=True, help="A parameter to set, by the protocol's own name.")
@click.option("--n", "times", type=click.IntRange(1, 100), default=1, metavar="N", help="Send it N times.")
@click.option("--to", metavar="URL", default="", help="Send it to this address, without a key.")
@click.option("--key-env", metavar="NAME", default="", help="The variable that holds the key.")
@click.option(
    "--check", is_flag=True, help="Compare the body with the recorded one first; if it differs, send nothing."
)
@click.option("--dry-run", is_flag=True, help="Print target, cost and body, and send nothing.")
@click.pass_context
def command(ctx: click.Context, /, ref: str, times: int, check: bool, dry_run: bool, **how: Any) -> None:
    """Send the model call REF:EVENT again, as it was or changed, and show the answers side by side.

    The call goes to the host of today's configuration (OPENAI_BASE_URL, ANTHROPIC_BASE_URL …, else the provider's own
    address) with today's key. --to names another host, which gets no key unless --key-env names one. A host that only
    the recording names gets nothing. Target and cost are printed before anything is sent. A request that the provider
    would store or act on is refused, as in a fork. Each answer is kept as a run, a child of REF's run.

    Exit codes: 0 answered, 1 an answer failed. With --check: 0 the body is the recorded one, 1 it differs, 3 the
    recording does not have the exact body.
    """
    shell = current(ctx)
    named = reference(ref)
    if not named.one_event("resend"):
        raise UsageError(
            f"{ref} names a run; resend takes one model call of it",
            cause="its number or its name goes after a colon",
            next_command=f"reenact show {shlex.quote(named.run)}",
        )
    ref = ref if dry_run else stored(shell, ref)
    with opened(shell, ref) as store:
        named = reference(ref)
        run = store.run(named.run)
        event = store.event(f"{run.id}:{named.event}")
        recording = store.open(run)
        place = f"{tail(run.id)}:{event.number}"
        was = request_of(recording, event)
        params = {name: value(text) for name, text in pairs(how["param"], "--param K=V")}
        prompt = None if how["prompt"] is None else text_of(how["prompt"])
        now = changed(was, prompt, how["model"], params)
        wanted = {"prompt": prompt, "model": how["model"], "params": params}
        said = {name: found for name, found in wanted.items() if found}
        if was.inexact:
            _rebuilt(shell, was, check=check, ref=place)
            said["rebuilt"] = was.inexact
        if check and not _checked(shell, recording, event, now):
            ctx.exit(1)
        before = _recorded(recording, event)
        try:
            require_stateless(now, place)
            to = _target(run, now, how)
        except (EffectRefused, UnreplayableRun) as error:
            if not check:
                raise
            shell.talk(f"reenact: not sent: {safe(error.message)}")
            ctx.exit(0)
        _announce(shell, now, to, times, before, how["model"])
        if dry_run:
            shell.next(typed(["reenact", "resend", place, *_asked(how, times)]))
            return
        today = dict(variables_now())
        answers = []
        for n in range(times):
            with WorkProgress(f"waiting for answer {n + 1} of {times}"):
                answers.append(send(store, recording, event.number, now, to, said, today))
    then = _then(recording, event, before)
    _tell(shell, before, then, answers)
    ctx.exit(0 if check or all(each.answered for each in answers) else 1)


def _asked(how: Mapping[str, Any], times: int) -> list[str]:
    """The options that decide what is sent, and where, so that the next command repeats what a dry run has shown."""
    words = [word for name in ("model", "prompt", "to") if how[name] for word in (f"--{name}", how[name])]
    words += [word for text in how["param"] for word in ("--param", text)]
    words += ["--key-env", how["key_env"]] if how["key_env"] else []
    return [*words, *(["--n", str(times)] if times > 1 else [])]


def _rebuilt(shell: Shell, request: ModelRequest, *, check: bool, ref: str) -> None:
    """Tell the user that the request was rebuilt and may differ from the recorded one; with ``check``, refuse it.

    Raises:
        UnreplayableRun: The recording has no exact body, and --check was given.
    """
    if check:
        raise UnreplayableRun(
            f"the recording does not have the exact body of {ref}: {request.inexact}",
            cause="--check compares with the bytes that were sent",
            next_command=f"reenact resend {ref} --dry-run",
        )
    shell.talk(f"reenact: rebuilt: {safe(request.inexact)}")


def _checked(shell: Shell, recording: Recording, event: Event, request: ModelRequest) -> bool:
    """Compare the body to send with the recorded one, by digest; print the result, and return whether they are
    equal."""
    body = request.call.body
    recorded = sent_call(event, recording.body(event.request)).body
    same = event.request is not None and body == recorded
    now, then = (hashlib.sha256(each).hexdigest() for each in (body, recorded))
    if shell.json:
        shell.line({"type": "check", "equal": same, "bytes": len(body), "sha256": now, "recorded_sha256": then})
    else:
        how = "equal to the recorded body" if same else f"differs from the recorded body, sha256 {then}"
        shell.data(f"check: {len(body)} bytes, sha256 {now}: {how}" + ("" if same else "; nothing was sent"))
    return same


def _target(run: Run, request: ModelRequest, how: Mapping[str, Any]) -> ResendTarget:
    """The address that the call goes to."""
    known = ProviderSettings(
        dict(variables_now()),
        {str(name): str(text) for name, text in (run.environment.get("env") or {}).items()},
        tuple(map(str, run.environment.get("env_secret") or ())),
        trust.is_ours(run),
    )
    return destination(request, known, how["to"], how["key_env"])


def _announce(
    shell: Shell, request: ModelRequest, to: ResendTarget, times: int, before: Reading | None, model: str | None
) -> None:
    """Print target and cost, before anything is sent."""
    signed = f"signed for {to.region}" if to.region else f"with {to.key}" if to.key else "without a key"
    cost = _estimate(before, model)
    told = "unknown" if cost is None else f"about ${amount(cost * times)}"
    each = f" ({times} times ${amount(cost)})" if cost is not None and times > 1 else ""
    if cost is None:
        told += f": {_NO_PRICES}" if prices() is None else ": no price, or no count of tokens"
    if shell.json:
        shell.line({
            "type": "target", "url": to.url, "why": to.why, "key": to.key or None, "region": to.region or None,
            "bytes": len(request.call.body), "times": times, "cost": None if cost is None else float(cost * times),
        })  # fmt: skip
    else:
        shell.talk(f"reenact: target: POST {safe(to.url)} ({safe(to.why)}), {signed}, {len(request.call.body)} bytes")
        shell.talk(f"reenact: cost: {told}{each}")


def _estimate(before: Reading | None, model: str | None) -> Decimal | None:
    """The cost of one more answer, if it has as many tokens as the recorded answer."""
    priced = prices()
    if before is None or priced is None:
        return None
    data = before.to_json(brief=True)
    if model is not None:
        data |= {"model_asked": model, "model_answered": model}
    data.pop("error", None)
    return reading_cost(data, CLOCK.wall_us(), priced)


def _recorded(recording: Recording, event: Event) -> Reading | None:
    """The recorded answer; None where it is not known."""
    try:
        body = recording.body(event.request)
        if is_traced_model(event.call):
            return reading_in(body, recording.body(event.answer))
        if not isinstance(event.outcome, Stream):
            return None
        data = b"".join(part for _, _, part in recording.parts(event.number))
        call = sent_call(event, body)
        return read(call.head, call.body, event.outcome.head, data)
    except ReenactError:
        return None


# --- the answers ---------------------------------------------------------------------------------------------------


def _then(recording: Recording, event: Event, before: Reading | None) -> dict[str, Json]:
    """The facts of the recorded answer, for the table."""
    priced = prices()
    cost = (
        None if before is None or priced is None else reading_cost(before.to_json(), recording.run.started_us, priced)
    )
    took = 0 if event.ended_us is None else event.ended_us - event.issued_us
    return facts_of(before) | {"cost": None if cost is None else float(cost), "duration_us": took if took > 0 else None}


def _tell(shell: Shell, before: Reading | None, then: Mapping[str, Json], answers: Sequence[SendResult]) -> None:
    priced = prices()
    said = tokens_of(before) if before is not None else []
    rows: list[dict[str, Json]] = []
    for each in answers:
        found = each.reading
        cost = None if found is None or priced is None else reading_cost(found.to_json(), CLOCK.wall_us(), priced)
        far = distance(said, tokens_of(found)) if found is not None and before is not None and each.answered else None
        rows.append(facts_of(found) | {
            "cost": None if cost is None else float(cost), "duration_us": each.duration_us, "distance": far,
            "run": each.run, "status": each.status, "error": _error(each),
        })  # fmt: skip
    if shell.json:
        shell.line({"type": "recorded"} | dict(then) | _said(before))
        for row, each in zip(rows, answers, strict=True):
            shell.line({"type": "answer"} | row | _said(each.reading))
        return
    shell.lines(_lines(before, then, rows, answers))
    shell.next(f"reenact show {tail(answers[0].run)}")


def _error(sent: SendResult) -> str:
    """The reason why there is no answer; empty if there is an answer."""
    if sent.answered or sent.error:
        return sent.error
    told = (sent.reading.error if sent.reading is not None else None) or {}
    return f"status {sent.status}: {told.get('message') or told.get('type') or 'no answer of a model'}"


def _said(reading: Reading | None) -> dict[str, Json]:
    return {} if reading is None else {"text": reading.text, "tool_calls": list(reading.tool_calls)}


def _lines(
    before: Reading | None,
    then: Mapping[str, Json],
    rows: Sequence[Mapping[str, Json]],
    answers: Sequence[SendResult],
) -> list[str]:
    """The facts as a table, then the texts. If there is only one new answer, the recorded text and the new text are
    side by side."""
    head = ("", "RUN", "MODEL", "SEED", "FINGERPRINT", "FINISH", "TOKENS", "DISTANCE", "COST $", "TIME")
    table = [head, ("then", "", *_cells(then), "", *_spent(then))]
    for n, row in enumerate(rows, 1):
        far = row["distance"]
        table.append((
            f"now {n}", tail(str(row["run"])), *_cells(row), "-" if far is None else str(far), *_spent(row),
        ))  # fmt: skip
    width = columns()
    out = _fitted(table, width)
    texts = [("then", _words(before))]
    texts += [(f"now {n}", _words(each.reading) or _error(each)) for n, each in enumerate(answers, 1)]
    if len(texts) == 2:
        half = (width - 3) // 2
        left, right = (_wrapped(safe(text), half) for _, text in texts)
        return [*out, "", *(f"{a:<{half}} | {b}".rstrip() for a, b in zip_longest(left, right, fillvalue=""))]
    for name, text in texts:
        out += ["", f"{name}:", *(f"  {line}" for line in _wrapped(safe(text), width - 2))]
    return out


def _fitted(table: Sequence[Sequence[str]], width: int) -> list[str]:
    """The lines of a table, one for each row; one for each column if only these lines fit the width."""
    wide, turned = _padded(table), _padded(list(zip(*table, strict=True)))
    fits = max(map(len, wide)) <= width or max(map(len, turned)) > width
    return wide if fits else turned


def _padded(table: Sequence[Sequence[str]]) -> list[str]:
    shown = [[safe(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]


def _cells(facts: Mapping[str, Json]) -> tuple[str, ...]:
    counts = [facts.get("tokens_in"), facts.get("tokens_out")]
    tokens = "-" if counts == [None, None] else " > ".join("?" if each is None else str(each) for each in counts)
    named = [facts.get(name) for name in ("model", "seed", "fingerprint", "finish")]
    return (*("-" if each in (None, "") else clip(str(each), 28) for each in named), tokens)


def _spent(facts: Mapping[str, Json]) -> tuple[str, str]:
    """The cost and the time of an answer."""
    cost = facts["cost"]
    return "-" if cost is None else amount(Decimal(f"{cost:.6g}")), duration(facts["duration_us"])


def _words(reading: Reading | None) -> str:
    """The text and the tool calls of a model's answer."""
    if reading is None:
        return ""
    calls = [call for call in reading.tool_calls if isinstance(call, Mapping)]
    told = (f"-> {call.get('name')}({call.get('arguments')})" for call in calls)
    return "\n".join(part for part in (reading.text, *told) if part)


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, wrapped to a width."""
    return [part for line in text.splitlines() or [""] for part in textwrap.wrap(line, width) or [""]]
