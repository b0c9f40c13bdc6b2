"""A scripted answer of a model (``{"say": TEXT, "uses": [TOOL CALL…]}``), said in the protocol of the request."""

from __future__ import annotations

from reenact.errors import UsageError
from reenact.facts.answers.saying import NotSaid, Response, is_said, said
from reenact.facts.call import Call, Json
from reenact.facts.dialects import is_model_request


def speaks(call: Call, value: Json) -> bool:
    """Whether a scripted value is what a model says, and not the body of a response."""
    return is_said(value) and is_model_request(str(call.head.get("method")), str(call.head.get("url")), call.body)


def spoken(call: Call, value: Json) -> Response:
    """The response to a model request that says it: streamed where the request wants that.

    Args:
        call: The request.
        value: ``say`` is the text, ``uses`` the tool calls: ``name`` and ``args`` each.

    Raises:
        UsageError: It cannot be said, or not in the request's protocol.
    """
    try:
        return said(call.head, call.body, value)
    except NotSaid as error:
        raise UsageError(
            f"a scripted answer cannot be said in the protocol of {call.name}: {error}",
            cause='what a model says is {"say": TEXT, "uses": [{"name": TOOL, "args": {…}}]}',
            next_command="reenact golden add --help",
        ) from None
