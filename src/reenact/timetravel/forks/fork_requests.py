"""Model requests that a fork rewrites: whether it can rewrite a request, and the request that it sends."""

from __future__ import annotations

from urllib.parse import urlsplit

from reenact.facts.call import Call, Json, Kind
from reenact.facts.dialects import recognise, sort_of
from reenact.facts.dialects.request_rewriting import NotRewritten, rewritten
from reenact.facts.http_transports import transport_of
from reenact.facts.lazy_dataclass import replace
from reenact.seams.http.outgoing_request import bound
from reenact.timetravel.forks.permits import is_model
from reenact.timetravel.forks.plan import Plan


def is_rewritten(plan: Plan, call: Call) -> bool:
    """Whether the plan changes a call, which must ask a model for text. Requests for vectors stay: they have no prompt,
    and another model's vectors would not fit the stored ones."""
    if not plan.rewrites or not is_model(call):
        return False
    return call.kind is Kind.MODEL or sort_of(recognise(call.head, call.body) or "") != "embedding"


def unwritable(plan: Plan, call: Call) -> str:
    """Why a model request cannot carry the plan's changes; empty where it can."""
    if not is_rewritten(plan, call):
        return ""
    transport = transport_of(call)
    if call.kind is not Kind.HTTP or transport is None or not transport.sends_another:
        return f"{call.name} cannot be rewritten on its way: {call.head.get('transport') or 'a tool'} sends it"
    tied = bound(call.head.get("headers") or ())
    if tied:
        return f"{call.name} cannot be rewritten on its way: its header {tied} is bound to the body it has"
    return unspoken(plan, call)


def unspoken(plan: Plan, call: Call) -> str:
    """Why the plan's changes have no place in a model request or its protocol; empty where they have."""
    try:
        as_sent(plan, call)
    except NotRewritten as error:
        return str(error)
    return ""


def sent(plan: Plan, call: Call, url: str, body: bytes) -> tuple[str, bytes]:
    """The address and the body of a rewritten call.

    Raises:
        NotRewritten: The protocol, or this request, has no place for the plan's changes.
    """
    dialect = recognise(call.head, body) or ""
    return rewritten(dialect, url, body, prompt=plan.prompt, model=plan.model, params=plan.params)


def as_sent(plan: Plan, call: Call) -> Call:
    """A call as it is sent: the same object where the plan changes nothing.

    Raises:
        NotRewritten: See ``sent``.
    """
    if not is_rewritten(plan, call):
        return call
    asked = str(call.head.get("url", "")), call.body
    url, body = sent(plan, call, *asked)
    return call if (url, body) == asked else replace(call, head={**call.head, "url": url}, body=body)


def redirects(call: Call) -> bool:
    """Whether a call can be sent to another host than its client has chosen."""
    transport = transport_of(call)
    return call.kind is Kind.HTTP and transport is not None and transport.chooses_host


def unmoved(call: Call, there: str) -> str:
    """The remark on a call that goes to its recorded address although today's address differs."""
    sender = call.head.get("transport")
    return f"{call.name} goes to its recorded address, not to {urlsplit(there).netloc}, because {sender} sends it"


def said(plan: Plan) -> dict[str, Json]:
    """The plan's changes in model requests, as a note on each of them."""
    changes = {"prompt": plan.prompt, "model": plan.model, "params": dict(plan.params) or None}
    return {name: value for name, value in changes.items() if value is not None}
