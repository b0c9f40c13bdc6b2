"""The provider under test, and the real SDKs pointed at it without a retry of their own."""

from __future__ import annotations

from collections.abc import Iterator

import anthropic
import openai
import pytest

from reenact.testing import ScriptedProvider


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    """A provider whose models improvise; its ``script`` may be set by the test."""
    with ScriptedProvider() as running:
        yield running


@pytest.fixture
def gpt(provider: ScriptedProvider) -> Iterator[openai.OpenAI]:
    """The real OpenAI client."""
    with openai.OpenAI(base_url=f"{provider.url}/v1", api_key="k", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture
def claude(provider: ScriptedProvider) -> Iterator[anthropic.Anthropic]:
    """The real Anthropic client."""
    with anthropic.Anthropic(base_url=provider.url, api_key="k", max_retries=0, timeout=20) as client:
        yield client
