"""``reenact cat``: prints the exact bytes of an event's answer, or one field of the event."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping

import click

from reenact.errors import UsageError
from reenact.facts.call import Json, Stream
from reenact.facts.event import Event, sent_call
from reenact.facts.lazy_dataclass import replace
from reenact.interfaces.cli.arguments import reference
from reenact.interfaces.cli.detail import onward
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.timetravel import pasteable_request, preview
from reenact.timetravel.event_contents import error_of, error_text, headers_of
from reenact.timetravel.event_fields import field_of

_ROW = 16


@click.command(
    cls=Command,
    name="cat",
    short_help="exact bytes of an event, or one field of it",
    example="""
    reenact cat 7f3c:9.response.body > body.json
    reenact cat 7f3c:search_docs#2.args.query
    reenact cat 7f3c:9 --curl
    """,
)
@click.argument("ref", metavar="REF:EVENT[.FIELD]")
@click.option("--headers", "form", flag_value="headers", help="The headers of the request, or of .response.")
@click.option("--hex", "form", flag_value="hex", help="As hexadecimal, sixteen bytes a line.")
@click.option("--curl", "form", flag_value="curl", help="The request as a curl command, without credentials.")
@click.option("--python", "form", flag_value="python", help="The request as a Python program, without credentials.")
@click.pass_context
def command(ctx: click.Context, ref: str, form: str | None) -> None:
    """Print the exact bytes of an event's answer, or of one FIELD of the event.

    request.body and response.body are the exact bytes as received, including compression; response.content is decoded,
    and response.raw is all that was stored. Other fields: args, result, error, state, reading, request.headers,
    request.url, response.status and all that show --json prints. A longer path leads into the data (result.docs.0). A
    dot inside a key is written ~1, a tilde ~0.
    """
    shell = current(ctx)
    wanted = reference(ref)
    if not wanted.event:
        raise UsageError(
            f"{ref} names no event",
            cause="cat prints one event",
            next_command=f"reenact show {shlex.quote(wanted.run)}",
        )
    with opened(shell, ref) as store:
        event = store.event(wanted.event_ref)
        recording = store.open(event.run)
        if form in ("curl", "python"):
            write = pasteable_request.curl if form == "curl" else pasteable_request.python
            call = sent_call(event, recording.body(event.request))
            shell.data(write(replace(event, call=call), call.body))
        elif form == "headers":
            _headers(shell, event, wanted.field)
        else:
            found = field_of(recording, event, wanted.field)
            _print(shell, found, form == "hex")
            if found == b"":
                _empty(shell, event, wanted.field)


def _empty(shell: Shell, event: Event, path: tuple[str, ...]) -> None:
    """Tell the user why nothing was printed."""
    error = None if path[:1] == ("request",) else error_of(event)
    if error is None:
        shell.talk(f"reenact: that part of #{event.number} is empty")
    else:
        shell.talk(preview.safe(f"reenact: #{event.number} has no answer: it raised {error_text(error)}"))
    shell.next(onward(event))


def _headers(shell: Shell, event: Event, path: tuple[str, ...]) -> None:
    head: Mapping[str, Json] = event.call.head
    if path[:1] == ("response",):
        head = event.outcome.head if isinstance(event.outcome, Stream) else {}
    headers = headers_of(head)
    if not headers:
        raise UsageError(
            f"#{event.number} has no headers",
            cause="only HTTP exchanges have headers",
            next_command=f"reenact show {event.run}:{event.number}",
        )
    for name, value in headers:
        if shell.json:
            shell.line([name, value])
        else:
            shell.raw(f"{name}: {value}\n".encode("latin-1", "backslashreplace"))


def _print(shell: Shell, value: bytes | Json, as_hex: bool) -> None:
    """Print bytes and text unchanged, and other data as one JSON line."""
    if isinstance(value, str) and not shell.json:
        value = value.encode(errors="surrogatepass") + (b"" if as_hex else b"\n")
    if as_hex:
        data = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
        for text in _hex(data):
            shell.data(text)
    elif isinstance(value, bytes):
        shell.raw(value)
    else:
        shell.line(value)


def _hex(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), _ROW):
        row = data[at : at + _ROW]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"{at:08x}  {row.hex(' '):<{_ROW * 3 - 1}}  |{text}|"
