"""Sends a request: one HTTP exchange, recorded as a child of the run with the original call."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Recording, Store
from reenact.facts.call import Json, Kind, Stream
from reenact.facts.dialects.recognition import read
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.reading import Reading
from reenact.facts.run import RESEND, Entry, Run
from reenact.recording.blocks import RootBlock
from reenact.recording.recording_opening import OpenRun, Who, new_run
from reenact.timetravel.event_contents import headers_of
from reenact.timetravel.forks.fork_opening import policy_of
from reenact.timetravel.resending.destination import ResendTarget
from reenact.timetravel.resending.request import ModelRequest
from reenact.timetravel.resending.signing import signed

_TIMEOUT_S: Final = 600.0
_LEFT_OUT: Final = frozenset({
    "content-length", "host", "connection", "accept-encoding", "transfer-encoding", "keep-alive", "te",
    "proxy-authorization", "authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "traceparent",
    "tracestate", "baggage", "idempotency-key", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256",
    "amz-sdk-invocation-id", "amz-sdk-request",
})  # fmt: skip
"""Headers that belong to one connection, one trace, one attempt or one key."""


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would carry the key to a host that nothing of today names."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, so that the redirect itself is the answer."""


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of sending a request once.

    Attributes:
        run: Id of the run that keeps it.
        reading: The answer; None where nothing that can be read came.
        status: The HTTP status; 0 without an answer.
        duration_us: How long it took.
        error: Why there is no answer, in words; empty where there is one.
    """

    run: str
    reading: Reading | None
    status: int
    duration_us: int
    error: str = ""

    @property
    def answered(self) -> bool:
        """Whether the model answered."""
        refused = self.reading is None or self.reading.error is not None
        return not (refused or self.error) and self.status // 100 == 2


def headers_for(request: ModelRequest, to: ResendTarget, today: Mapping[str, str]) -> dict[str, str]:
    """The headers that go out: the recorded ones without those of another connection or key, and today's key."""
    found: dict[str, str] = {}
    for name, value in headers_of(request.call.head):
        if name.lower() not in _LEFT_OUT and "~rx" not in value:
            found[name] = f"{found[name]}, {value}" if name in found else value
    found.setdefault("content-type", "application/json")
    if to.region:
        return signed("POST", to.url, found, request.call.body, to.region)
    if to.key:
        key = today[to.key].strip()
        found[to.header] = f"Bearer {key}" if to.header == "authorization" else key
    return found


def send(
    store: Store,
    recording: Recording,
    event: int,
    request: ModelRequest,
    to: ResendTarget,
    said: Mapping[str, Json],
    today: Mapping[str, str],
) -> SendResult:
    """Send a request once. Its run is a child of the recorded run. ``environment["resend"]`` holds the number of the
    event and the changes.

    Args:
        store: The store of the run.
        recording: The run with the original call.
        event: The number of the original call.
        request: The request to send.
        to: The target.
        said: The changes in the request, and whether it was rebuilt.
        today: The environment of today.

    Raises:
        UnreplayableRun: The request cannot be signed.
    """
    headers = headers_for(request, to, today)
    parent, policy = recording.run, policy_of(recording.run)
    who = Who(f"{parent.agent}@{parent.version}" if parent.version else parent.agent, parent.user, parent.tenant)
    kept: dict[str, Json] = {"event": event, **said}
    run = new_run(
        who, Entry(RESEND, target=f"{tail(parent.id)}:{event}"), policy, CLOCK, ENTROPY,
        parent=parent.id, relation=RESEND, environment={RESEND: kept},
    )  # fmt: skip
    began_us = CLOCK.mono_us()
    block = RootBlock(OpenRun(run, store, policy, CLOCK, sealed=False), None)
    block.enter()
    error: BaseException | None = None
    try:
        _exchange(to.url, headers, request.call.body)
    except BaseException as failed:
        error = failed
        if not isinstance(failed, (OSError, ValueError)):
            raise
    finally:
        block.leave(error, None)
    took_us = CLOCK.mono_us() - began_us
    why = "" if error is None else str(getattr(error, "reason", "") or error)
    return _read(store, run, took_us, f"{urlsplit(to.url).netloc} did not answer: {why}" if why else "")


def _exchange(url: str, headers: Mapping[str, str], body: bytes) -> None:
    opener = urllib.request.build_opener(_Stays)
    asked = urllib.request.Request(url, body, dict(headers), method="POST")
    try:
        with opener.open(asked, timeout=_TIMEOUT_S) as answer:
            _drain(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            _drain(refused)


def _drain(answer: Any) -> None:
    """Read an answer to its end; its text is later read from the recording."""
    while answer.read(1 << 16):
        pass


def _read(store: Store, run: Run, took_us: int, error: str) -> SendResult:
    """The result of sending a request, read from the run of its exchange."""
    recording = store.open(run.id)
    event = next(iter(recording.events(kinds=(Kind.HTTP,), limit=1)), None)
    if event is None or not isinstance(event.outcome, Stream):
        return SendResult(run.id, None, 0, took_us, error or "nothing was recorded of it")
    status = event.outcome.head.get("status")
    data = b"".join(part for _, _, part in recording.parts(event.number))
    reading = read(event.call.head, recording.body(event.request), event.outcome.head, data)
    return SendResult(run.id, reading, status if isinstance(status, int) else 0, took_us, error)
