"""The provider and the region at an address, read from host names and paths; never used to recognise a protocol."""

from __future__ import annotations

from urllib.parse import urlsplit

from reenact.facts.lazy_regex import lazy_regex

_PROVIDERS = (
    ("openai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("services.ai.azure.com", "azure"),
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("api.groq.com", "groq"),
    ("openrouter.ai", "openrouter"),
    ("api.mistral.ai", "mistral"),
    ("codestral.mistral.ai", "mistral"),
    ("api.cohere.com", "cohere"),
    ("api.cohere.ai", "cohere"),
    ("api.deepseek.com", "deepseek"),
    ("api.x.ai", "xai"),
    ("api.together.xyz", "together"),
    ("api.together.ai", "together"),
    ("api.fireworks.ai", "fireworks"),
    ("api.cerebras.ai", "cerebras"),
    ("api.perplexity.ai", "perplexity"),
    ("api.moonshot.ai", "moonshot"),
    ("router.huggingface.co", "huggingface"),
    ("ollama.com", "ollama"),
    ("generativelanguage.googleapis.com", "google"),
    ("aiplatform.googleapis.com", "vertex"),
    ("amazonaws.com", "bedrock"),
    ("amazonaws.com.cn", "bedrock"),
    ("api.aws", "bedrock"),
)
_REGION = lazy_regex(
    r"(?:^|\.)bedrock(?:-runtime|-mantle)?(?:-fips)?\.([a-z0-9-]+)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$"
    r"|^([a-z0-9-]+)-aiplatform\.googleapis\.com$"
    r"|^([a-z]{2})\.api\.(?:openai|anthropic)\.com$|^[^.]+\.([a-z0-9]+)\.(?:inference|models)\.ai\.azure\.com$"
)
_LOCATION = lazy_regex(r"/projects/[^/]+/locations/([^/]+)/")


def provider_of(host: str) -> str:
    """The provider at a host; the host itself if it is unknown."""
    for suffix, name in _PROVIDERS:
        if host == suffix or host.endswith(("." + suffix, "-" + suffix)):
            return name
    return host


def region_of(url: str) -> str:
    """The region in a host's name, or else the location in the path; empty without either."""
    parts = urlsplit(url)
    for match in (_REGION.search(parts.hostname or ""), _LOCATION.search(parts.path)):
        if match is not None:
            return next((group for group in match.groups() if group), "")
    return ""
