"""Models: which calls ask one."""

from __future__ import annotations

from reenact.facts.call import Call, Kind
from reenact.facts.dialects import is_model_request


def is_model(call: Call) -> bool:
    """Whether a call asks a model."""
    if call.kind is Kind.MODEL:
        return True
    if call.kind is not Kind.HTTP:
        return False
    return is_model_request(str(call.head.get("method")), str(call.head.get("url")), call.body)
