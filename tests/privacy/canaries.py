"""Credentials in many forms, look-alikes that are none, and records to put them into. None was ever in use."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from reenact.facts.call import Call, Effect, Kind
from reenact.facts.record import CallIssued, HeadArrived

A = "Zq3vT9xKb7LmW2nR"
"""Sixteen characters that occur in every canary and nowhere else: what must never be found again."""
LONG = A + "c4Yd8sPf6HgJ1uQe" + "r5Ta0oEi"

SHAPES = {
    "openai": f"sk-{LONG}{LONG}",
    "openai project": f"sk-proj-{LONG}",
    "anthropic": f"sk-ant-api03-{LONG}-{LONG}AA",
    "openrouter": f"sk-or-v1-{LONG}",
    "github": f"ghp_{LONG}",
    "github fine": f"github_pat_{LONG}",
    "gitlab": f"glpat-{A}c4Yd",
    "slack": f"xoxb-123456789012-{A}c4Yd8sPf",
    "google": f"AIza{A}c4Yd8sPf6HgJ1uQer5T",
    "google oauth": f"ya29.{LONG}",
    "hugging face": f"hf_{LONG}",
    "npm": f"npm_{LONG}",
    "sendgrid": f"SG.{A}c4Yd8s.{LONG}",
    "stripe": f"sk_live_{LONG}",
    "groq": f"gsk_{LONG}",
    "replicate": f"r8_{LONG}",
    "json web token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{LONG}",
    "telegram": f"123456789:AA{A}c4Yd8sPf6HgJ1uQer",
    "bearer": f"Bearer {LONG}",
    "basic": "Basic " + base64.b64encode(f"user:{A}".encode()).decode(),
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{LONG}\n{LONG}\n-----END RSA PRIVATE KEY-----",
    "database": f"postgresql://app:{A}@db.example.com:5432/x",
}
"""Recognised wherever they stand, in whatever text."""

FIELDS = {
    name: f"{A}.{at}"
    for at, name in enumerate(
        [
            "api_key",
            "apiKey",
            "x-api-key",
            "access_token",
            "accessToken",
            "refresh_token",
            "client_secret",
            "password",
            "passwd",
            "passphrase",
            "private_key",
            "authorization",
            "secret",
            "aws_secret_access_key",
            "session_token",
            "id_token",
            "DB_PASSWORD",
            "OPENAI_API_KEY",
            "webhook_secret",
            "credentials",
            "bot_token",
            "token",
        ]
    )
}
"""Recognised by the name of the field they stand in."""

HEADERS = {
    "Authorization": f"Bearer {LONG}",
    "x-api-key": LONG,
    "api-key": LONG,
    "Cookie": f"theme=dark; sid={LONG}; other={A}",
    "Set-Cookie": f"sid={LONG}; Path=/; HttpOnly",
    "Proxy-Authorization": "Basic " + base64.b64encode(f"u:{A}".encode()).decode(),
    "x-goog-api-key": LONG,
    "X-Amz-Security-Token": LONG,
    "X-Vault-Token": A,
    "Location": f"https://h.example/cb?access_token={LONG}",
}

LOOK_ALIKES: list[Any] = [
    {"max_tokens": 1024, "max_completion_tokens": 5, "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    {"token": "Hello", "logprob": -0.1, "bytes": [72]},
    {"token": "antidisestablishmentarianism99", "logprob": -0.1},
    {"next_page_token": "CAUQAA1234567890abcdef", "nextPageToken": "CAUQAA1234567890abcdef"},
    {"parameters": {"type": "object", "properties": {"api_key": {"type": "string"}, "password": {"type": "string"}}}},
    {"required": ["api_key", "password"]},
    {"id": "call_ZR5UUuTt3pf61kjwAJIYdVMj", "tool_call_id": "toolu_01A09q90qw90lq917835lq9"},
    {"signature": f"EvMCCkYICxgCKkCHP2cSuEdcJK/0rFwq AKIA{'ABCD' * 4} {SHAPES['github']}"},
    {"encrypted_content": f"gAAAAA{SHAPES['anthropic']}"},
    {"thought_signature": SHAPES["json web token"]},
    {"key": "users:1", "value": "x", "primary_key": "id", "cache_key": "abcdef1234567890abcdef"},
    {"text": "the password: must be long; keep your token safe, press any key"},
    {"text": "risk-averse-approach-to-the-thing and task-1234-some-branch-name-here"},
    {"code": "client = OpenAI(api_key=os.environ['OPENAI_API_KEY'])"},
    {"url": "git@github.com:owner/repo.git", "mail": "someone@example.com"},
    {"url": "https://example.com/a?page=2&key=users:1"},
    {"sha": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
    {"uuid": "0198c5a2-7c1e-7abc-8def-0123456789ab"},
    {"password": "", "secret": None, "api_key": "${API_KEY}", "token": "<token>", "client_secret": "***"},
    {"image": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhg=="},
]


def issued(body: bytes = b"", url: str = "https://h.example/v1", headers: Any = (), event: int = 0) -> CallIssued:
    """A POST over HTTP."""
    head = {"method": "POST", "url": url, "headers": [list(pair) for pair in headers], "transport": "httpx"}
    return CallIssued(event, 0, 0, None, 0, Call(Kind.HTTP, "POST h.example", Effect.WRITE, "http/1", head, body))


def arrived(headers: Any = (), event: int = 0, **more: Any) -> HeadArrived:
    """The head of a response."""
    pairs = [list(pair) for pair in headers] or [["content-type", "application/json"]]
    return HeadArrived(event, 1, {"status": 200, "headers": pairs, "framing": "payload", **more}, 1)


def nested(value: Any, levels: int) -> bytes:
    """JSON in a string of JSON, so many times."""
    text = json.dumps(value)
    for _ in range(levels):
        text = json.dumps({"arguments": text})
    return text.encode()


def seen(found: Any) -> str:
    """Everything in records, those that hide most of themselves in their representation too."""
    if isinstance(found, (list, tuple)):
        return " ".join(map(seen, found))
    if isinstance(found, Mapping):
        return seen([*found.keys(), *found.values()])
    if dataclasses.is_dataclass(found):
        return seen([getattr(found, each.name) for each in dataclasses.fields(found)])
    return repr(found)
