"""``reenact serve``: receives OpenTelemetry traces over HTTP and gRPC, and makes runs of them."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import ExitStack, suppress

import click

from reenact.abc.project_settings import load_settings
from reenact.abc.sources import CLOCK, ENTROPY
from reenact.errors import ReenactError, UsageError
from reenact.facts.ids import tail
from reenact.facts.phrases import counted
from reenact.facts.settings import policy_of
from reenact.interfaces.cli.progress import WorkProgress
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.interop.otlp.span_listener import Address, SpanListener, is_loopback, listen, listen_rpc
from reenact.interop.otlp.span_receiver import Receiver, ReceiveResult
from reenact.interop.prometheus import Page
from reenact.interop.trace_import import TAG
from reenact.timetravel.json_views import run_data
from reenact.timetravel.preview import safe

_HTTP = "127.0.0.1:4318"
_RPC = "127.0.0.1:4317"
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_WAKE_S = 0.5
"""The seconds between two checks of the main thread whether it must end, because a signal may not wake a waiting
lock."""


@click.command(
    cls=Command,
    name="serve",
    short_help="receive traces of OpenTelemetry as runs",
    example="""
    reenact serve
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python agent.py
    RECEIVER_TOKEN=… reenact serve --bind 0.0.0.0:4318 --token-env RECEIVER_TOKEN
    """,
)
@click.option(
    "--bind", metavar="HOST:PORT", default=_HTTP, show_default=True, help="Address for HTTP; port 0: any free port."
)
@click.option("--grpc", metavar="HOST:PORT", help=f"Address for gRPC. Default: {_RPC}, if it is free.")
@click.option("--token-env", metavar="NAME", help="Variable with the token that senders must show.")
@click.pass_context
def command(ctx: click.Context, bind: str, grpc: str | None, token_env: str | None) -> None:
    """Receive OpenTelemetry traces until Ctrl-C: each becomes a run, as with reenact import otlp.

    The run of a trace is in the store when its request is answered. Later spans of the same trace are added: the run is
    made again under its id. Log records are added to their spans. Metrics are refused.

    GET /metrics is for Prometheus: for each agent, the number of runs that failed or cannot be replayed, by their group
    in reenact triage.

    It listens on this machine alone. With --bind to another address senders must show a token (authorization: Bearer
    …), and --token-env names the variable that holds it. gRPC needs reenact[otel].
    """
    shell = current(ctx)
    token = _token(token_env)
    web, rpc = _address(bind, token), _address(grpc or _RPC, token)
    over = threading.Event()
    with ExitStack() as closing:
        store = closing.enter_context(opened(shell))
        receiver = Receiver(store, policy_of(load_settings()), CLOCK, ENTROPY)
        closing.callback(_join_last, shell, receiver)  # called last: nothing listens any more
        told = _RequestLines(shell)
        listening = [listen(web, receiver, token, told, Page(store).text)]
        closing.callback(listening[0].close)
        spoken, why = listen_rpc(rpc, receiver, token, told)
        if spoken is not None:
            closing.callback(spoken.close)
            listening.append(spoken)
        elif grpc is not None:
            raise UsageError(
                f"gRPC cannot be taken at {grpc}: {why}",
                cause="another program has the port, or grpcio is missing",
                next_command="pip install 'reenact[otel]'",
            )
        _ends(over, receiver)
        _begun(shell, listening, why)
        with suppress(KeyboardInterrupt):
            while not over.wait(_WAKE_S):
                _join(shell, receiver)
    shell.talk(f"reenact: {counted(told.spans, 'span')} of {counted(len(told.traces), 'trace')} received")
    if told.traces:
        shell.next("reenact ls")


def _join(shell: Shell, receiver: Receiver, *, every: bool = False) -> None:
    """Join the parts of long traces. After a fault the parts stay separate, and nothing is lost."""
    try:
        while receiver.join_due(every=every):
            pass
    except ReenactError as error:
        shell.talk(f"reenact: the parts of a trace could not be joined: {error.message}")


def _join_last(shell: Shell, receiver: Receiver) -> None:
    """Join the parts of all traces, because the receiver ends. This may take as long as the import of the traces; after
    a further signal, the parts stay separate."""
    if not receiver.parted:
        return
    traces = counted(receiver.parted, "trace")
    shell.talk(f"reenact: joining the parts of {traces}; Ctrl-C again leaves them apart")
    try:
        with WorkProgress(f"joining the parts of {traces}"):
            _join(shell, receiver, every=True)
    except KeyboardInterrupt:
        shell.talk("reenact: they stay apart, until a further piece of their trace comes to a receiver")


class _RequestLines:
    """Prints a line for each request that arrives, in any thread."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._lock = threading.Lock()
        self.traces: set[str] = set()
        self.spans = 0

    def __call__(self, received: ReceiveResult, spans: int) -> None:
        with self._lock:
            self.spans += spans
            for run, count in received.runs:
                self.traces.add(run.tags.get(TAG, run.id))
                if self._shell.json:
                    self._shell.line(run_data(run))
                else:
                    agent = f"  {safe(run.agent)}" if run.agent else ""
                    came = counted(count, "span") if count else "records of logs"
                    self._shell.data(f"{tail(run.id)}{agent}  {came} came")
            if received.why:
                self._shell.talk(f"reenact: {received.rejected} not read: {safe(received.why)}")


def _token(name: str | None) -> str:
    """The token that senders must show; empty if none is required."""
    if name is None:
        return ""
    found = os.environ.get(name, "")
    if not found:
        raise UsageError(
            f"{name} is not set",
            cause="it holds the token that senders must show",
            next_command=f"export {name}=$(openssl rand -hex 16)",
        )
    return found


def _address(text: str, token: str) -> Address:
    """The address to listen on; other machines may reach it only with a token."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 0xFFFF:
        raise UsageError(
            f"{text!r} is no address to listen on",
            cause="it is HOST:PORT",
            next_command=f"reenact serve --bind {_HTTP}",
        )
    host = host.strip("[]")
    if not token and not is_loopback(host):
        raise UsageError(
            f"{host} is reached from other machines, and any program there could write into the store",
            cause="there is no token that senders must show",
            next_command=f"reenact serve --bind {text} --token-env RECEIVER_TOKEN",
        )
    return Address(host, int(port))


def _ends(over: threading.Event, receiver: Receiver) -> None:
    """Let a signal that ends us stop the waiting and the joining of parts. Requests that have arrived are still
    answered."""

    def end(*_: object) -> None:
        over.set()
        if receiver.joining:
            raise KeyboardInterrupt

    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


def _begun(shell: Shell, listening: list[SpanListener], without_rpc: str) -> None:
    """Print the addresses, because the system may have chosen the port."""
    if shell.json:
        shell.line({"listening": [each.url for each in listening]})
    shell.talk(f"reenact: listening on {' and '.join(each.url for each in listening)}; Ctrl-C ends it")
    if without_rpc:
        shell.talk(f"reenact: no gRPC: {without_rpc}")
    shell.talk(f"next: export OTEL_EXPORTER_OTLP_ENDPOINT={listening[0].url}")
