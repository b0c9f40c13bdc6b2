"""The refund agent as most are written: no mark of any recorder, its search an HTTP service."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import Any

import httpx2
from openai import OpenAI

MODEL = os.environ.get("REFUND_AGENT_MODEL", "gpt-5.4-mini")
DOCS_URL = os.environ.get("DOCS_URL", "http://127.0.0.1:8077")
MAX_SEARCHES = 20
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "search_docs",
            "description": "Search the support documents.",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        },
    }
]


def answer(question: str) -> str:
    """The agent's answer to a customer's question.

    Raises:
        TimeoutError: The budget of searches is used up.
    """
    started = time.monotonic()
    system = f"Answer only from documents that search_docs returns. It is {datetime.now(UTC).isoformat()}."
    messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    with OpenAI() as client, httpx2.Client(base_url=DOCS_URL) as docs:
        for number in range(1, MAX_SEARCHES + 1):
            message = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
            if not message.tool_calls:
                return message.content or ""
            messages.append(message.model_dump(exclude_none=True, exclude={"annotations", "refusal"}))
            for call in message.tool_calls:
                arguments = json.loads(call.function.arguments) if call.type == "function" else {}
                found = docs.get("/docs", params=arguments).raise_for_status().json()
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)})
                print(f"search {number}: {arguments} -> {found['count']} documents, {time.monotonic() - started:.3f} s")
    raise TimeoutError(f"timed out after {MAX_SEARCHES} searches without an answer to {question!r}")


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:]) or "What is your refund policy?"))
