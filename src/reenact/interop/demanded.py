"""The credentials that SDKs demand before they ask anything: a replay of an imported run has placeholders for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from reenact.facts.dialects import recognise
from reenact.facts.dialects.hosts import provider_of
from reenact.interop.exchanges import Exchange

_BY_PROVIDER: Final = {
    "azure": ("AZURE_OPENAI_API_KEY",),
    "bedrock": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "cohere": ("CO_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "google": ("GEMINI_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
_BY_PROTOCOL: Final = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def variables(exchanges: Iterable[Exchange]) -> list[str]:
    """The variables that clients of these models read a key from, by name."""
    found: set[str] = set()
    for each in exchanges:
        dialect = recognise({"method": each.method, "url": each.url, "headers": each.asked}, each.body)
        if dialect is None:
            continue
        found.update(_BY_PROVIDER.get(provider_of(urlsplit(each.url).hostname or ""), ()))
        found.update(name for protocol, name in _BY_PROTOCOL.items() if dialect.startswith(protocol))
    return sorted(found)
