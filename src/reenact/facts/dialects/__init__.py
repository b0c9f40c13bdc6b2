"""Model calls inside recorded exchanges: recognised, and read into one neutral form.

Nothing here touches the world. ``recognise`` says which protocol a request uses, ``read`` gives the whole call, and
``stateless_model_request`` says whether sending the request again would change nothing.
"""

from __future__ import annotations

from reenact.facts.dialects.recognition import (
    is_model_request,
    read,
    recognise,
    sort_of,
    stateless_model_request,
)

__all__ = ["is_model_request", "read", "recognise", "sort_of", "stateless_model_request"]
