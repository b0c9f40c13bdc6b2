"""Where the address of a request names its model, and the same address with another model.

Bedrock, Gemini, Vertex and Azure name it there; all others name it in the body.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote

from reenact.facts.lazy_regex import lazy_regex

_END: Final = r"(?=$|[?#])"
_BEDROCK: Final = lazy_regex(r"/model/([^/?#]+)/(?:converse(?:-stream)?|invoke(?:-with-response-stream)?)" + _END)
_GOOGLE: Final = lazy_regex(r"/([^/:?#]+)(?::|%3[Aa])(?:(?:streamG|g)enerateContent|(?:stream)?[rR]awPredict)" + _END)
_AZURE: Final = lazy_regex(r"/deployments/([^/?#]+)/")
_PLACES: Final = (_BEDROCK, _GOOGLE, _AZURE)
_MAKER: Final = lazy_regex(
    r"(?:\A|[./])(amazon\.nova|amazon\.titan|anthropic|meta|mistral|cohere|ai21|deepseek|openai|qwen|writer)(?=[.-])"
)


def model_in(url: str) -> str:
    """The model that an address names; empty where it names none."""
    found = _found(url)
    return unquote(found[1]) if found is not None else ""


def readdressed(url: str, model: str) -> str:
    """The address with another model in place of the one that it names; unchanged if it names none.

    Args:
        url: Whole, or from its path on.
        model: The name as a user writes it. It is quoted as by the providers' own clients.
    """
    found = _found(url)
    if found is None:
        return url
    google = found.re.pattern == _GOOGLE.pattern
    name = model.removeprefix("models/") if google else model
    safe = "@" if google else ""
    return f"{url[: found.start(1)]}{quote(name, safe=safe)}{url[found.end(1) :]}"


def maker_of(model: str) -> str:
    """The maker of a model id of Bedrock, as far as the protocols differ; empty where it is not known."""
    found = _MAKER.search(model)
    return found[1] if found is not None else ""


def through_one_door(url: str) -> bool:
    """Whether an address leads to Bedrock's invoke, where each maker's models speak a protocol of their own."""
    found = _BEDROCK.search(url)
    return found is not None and "/invoke" in url[found.end(1) :]


def _found(url: str) -> re.Match[str] | None:
    return next((found for place in _PLACES if (found := place.search(url)) is not None), None)
