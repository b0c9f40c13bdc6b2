"""Model calls inside recorded exchanges: recognised, and read into one neutral form.

Pure readings: nothing here touches the world. ``recognise`` says which protocol a request speaks, ``read`` tells the
whole call, ``stateless_model_request`` whether asking again would change anything.
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
