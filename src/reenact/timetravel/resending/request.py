"""The request of a recorded model call as it can be sent again: its recorded bytes, or else a rebuilt request, with a
remark that says so."""

from __future__ import annotations

from typing import Final

from reenact.abc.store import Recording
from reenact.errors import EffectRefused, UsageError
from reenact.facts.call import Call, Fidelity, Json, Kind
from reenact.facts.credentials import STANDIN
from reenact.facts.dialects import recognise, stateless_model_request
from reenact.facts.dialects.request_rewriting import NotRewritten, rewritten
from reenact.facts.event import Event, sent_call
from reenact.facts.framing import header
from reenact.facts.ids import tail
from reenact.facts.imported_runs import NOTE, says_asked_again
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import is_traced_model, reading_in
from reenact.timetravel.forks.permits import is_model, only_kept
from reenact.timetravel.resending.rebuilding import rebuilt

_WITHHELD: Final = (Fidelity.WITHHELD, Fidelity.SEALED)
_REGION: Final = lazy_regex(r"[a-z]{2,3}(?:-[a-z]{2,12}){1,3}-\d{1,2}")
_ENCODING: Final = "content-encoding"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A model call as it can be sent.

    Attributes:
        call: The call with its body, without the headers that a client computes again or that hold a credential.
        dialect: Its protocol.
        inexact: Why its body differs from the bytes that were sent; empty where it does not.
        provider: The provider that a trace names; empty where the address names it.
    """

    call: Call
    dialect: str
    inexact: str = ""
    provider: str = ""

    @property
    def url(self) -> str:
        """The address that the recorded request went to."""
        return str(self.call.head.get("url") or "")


def request_of(recording: Recording, event: Event) -> ModelRequest:
    """The request of an event.

    Raises:
        UsageError: The event is no model request over HTTP, or its request is not known.
        BlobMissing: Its body is gone.
    """
    body = recording.body(event.request)
    if is_traced_model(event.call):
        answer = recording.body(event.answer) if event.answer else b""
        return _of_trace(event, body, answer)
    call = sent_call(event, body)
    dialect = recognise(call.head, body) if call.kind is Kind.HTTP else None
    if dialect is None:
        what = "asks a model of the program itself" if is_model(call) else "asks no model"
        within = _within(recording, event)
        raise UsageError(
            f"event {event.number} ({event.name}) {what}: there is no request to send to a provider",
            cause="only a model call that went over HTTP, or that a trace tells, can be sent again",
            next_command=f"reenact resend {within}" if within else f"reenact show {tail(event.run)}",
        )
    return ModelRequest(call, dialect, _inexact(event, body))


def _within(recording: Recording, event: Event) -> str:
    """The first request to a model that a function of the program has made; empty where it has made none."""
    for each in recording.events(kinds=(Kind.HTTP,)):
        if each.parent == event.number and recognise(each.call.head, recording.body(each.request)) is not None:
            return f"{tail(each.run)}:{each.number}"
    return ""


def _inexact(event: Event, body: bytes) -> str:
    """Why the stored body differs from the bytes on the wire; empty if it does not."""
    if event.fidelity in _WITHHELD:
        return f"its body is {event.fidelity.value}: {event.fidelity_note}"
    if b"~" in body and STANDIN.search(body):
        return "redaction has replaced a credential in its body"
    remarks = event.attributes.get(NOTE)
    said = next((str(each) for each in remarks if says_asked_again(str(each))), "") if isinstance(remarks, list) else ""
    return f"imported: {said}" if said else ""


def _of_trace(event: Event, asked: bytes, answered: bytes) -> ModelRequest:
    reading = reading_in(asked, answered)
    dialect, path, body, lost = rebuilt(reading, event.number, tail(event.run))
    base = f"https://bedrock-runtime.{reading.region}.amazonaws.com" if _is_regional(reading, dialect) else ""
    head: dict[str, Json] = {"method": "POST", "url": base + path, "headers": [["content-type", "application/json"]]}
    call = replace(event.call, kind=Kind.HTTP, head=head, body=body)
    told = f"; it has no {', '.join(lost)}" if lost else ""
    return ModelRequest(call, dialect, f"a trace keeps what was said, not the bytes{told}", reading.provider)


def _is_regional(reading: Reading, dialect: str) -> bool:
    """Whether a trace names the region of Bedrock in which the model was asked; a file may have any text there."""
    return dialect.startswith("bedrock.") and _REGION.fullmatch(reading.region) is not None


def changed(request: ModelRequest, prompt: str | None, model: str | None, params: dict[str, Json]) -> ModelRequest:
    """A request with something changed; the same request where nothing changes.

    Raises:
        UsageError: The protocol, or this request, has no place for it.
    """
    if prompt is None and model is None and not params:
        return request
    call, body = request.call, request.call.body
    if header(call.head, _ENCODING):
        raise UsageError(
            f"{call.name} went out compressed, and cannot be changed",
            cause="a compressed request can only be sent as it was",
            next_command="reenact resend --help",
        )
    try:
        url, body = rewritten(request.dialect, request.url, body, prompt=prompt, model=model, params=params)
    except NotRewritten as error:
        raise UsageError(
            f"{call.name} cannot be changed so: {error}",
            cause="a request keeps its protocol; only its prompt, model and parameters change",
            next_command="reenact resend --help",
        ) from None
    return replace(request, call=replace(call, head={**call.head, "url": url}, body=body))


def require_stateless(request: ModelRequest, ref: str) -> None:
    """Refuse a request that would change something at the provider, as a fork does.

    Args:
        request: The request as it would be sent.
        ref: The event, as a person named it.

    Raises:
        EffectRefused: The request is stored by the provider, continues something stored there, or lets the provider
            act.
    """
    call = request.call
    if stateless_model_request("POST", request.url, call.body):
        return
    kept = only_kept(call)
    raise EffectRefused(
        f"{call.name} {'is stored at its provider' if kept else 'may change the world'}: it is not sent again",
        cause="store, a conversation, background work, uploads and hosted tools make a model call a write",
        next_command=f"reenact resend {ref} --param store=false" if kept else f"reenact show {ref}",
    )
