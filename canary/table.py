"""The entry points that are called: one row each, with the script that makes the smoke call and what it needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry point.

    Attributes:
        name: What is called, as the report says it.
        script: The script in ``calls/``.
        needs: Packages to install, the newest of each.
        environment: The environment it shares with others. What holds another SDK back below its newest version
            (litellm, frameworks) has one of its own.
    """

    name: str
    script: str
    needs: tuple[str, ...]
    environment: str = "sdks"


ENTRIES: tuple[Entry, ...] = (
    Entry("openai chat", "openai_chat.py", ("openai",)),
    Entry("openai chat, async", "openai_chat_async.py", ("openai",)),
    Entry("openai chat, aiohttp client", "openai_chat_aiohttp.py", ("openai[aiohttp]",)),
    Entry("openai responses", "openai_responses.py", ("openai",)),
    Entry("openai responses, async", "openai_responses_async.py", ("openai",)),
    Entry("openai responses, aiohttp client", "openai_responses_aiohttp.py", ("openai[aiohttp]",)),
    Entry("anthropic", "anthropic_messages.py", ("anthropic",)),
    Entry("mistralai", "mistral.py", ("mistralai",)),
    Entry("google-genai", "google_genai.py", ("google-genai",)),
    Entry("google-genai, async", "google_genai_async.py", ("google-genai",)),
    Entry("groq", "groq_chat.py", ("groq",)),
    Entry("ollama", "ollama_chat.py", ("ollama",)),
    Entry("cohere", "cohere_chat.py", ("cohere",)),
    Entry("litellm", "litellm_completion.py", ("litellm",), "litellm"),
    Entry("litellm, async", "litellm_completion_async.py", ("litellm",), "litellm"),
    Entry("langchain-openai", "langchain_openai_chat.py", ("langchain-openai",), "langchain"),
    Entry("pydantic-ai", "pydantic_ai_agent.py", ("pydantic-ai-slim[openai]",), "pydantic-ai"),
    Entry("openai-agents", "openai_agents.py", ("openai-agents",), "agents"),
    Entry("smolagents", "smolagents_model.py", ("smolagents[openai]",), "smolagents"),
    Entry("huggingface_hub inference", "huggingface_inference.py", ("huggingface_hub",)),
    Entry("boto3 bedrock-runtime", "boto3_bedrock.py", ("boto3",)),
    Entry("qdrant-client", "qdrant.py", ("qdrant-client",)),
    Entry("mcp over HTTP", "mcp_http.py", ("mcp",)),
    Entry("requests", "plain_requests.py", ("requests",)),
    Entry("urllib3", "plain_urllib3.py", ("urllib3",)),
    Entry("urllib.request", "plain_urllib.py", ()),
    Entry("httpx with a custom transport", "httpx_transport.py", ("httpx",)),
)
"""Every entry point."""

ENVIRONMENTS: tuple[str, ...] = tuple(dict.fromkeys(entry.environment for entry in ENTRIES))
"""The environments, in the order they are made."""
