"""A corpus of credentials in every place where they naturally stand, and of look-alikes, drawn from a fixed seed.

A case is a credential of some kind in some place. A place knows how to write it down and how to read it again, so that
a broken structure is noticed, and a credential that is still there behind an encoding, too. None was ever in use.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.privacy.corpus_places import DOCUMENTS, Place
from tests.privacy.corpus_streams import ANSWERS

SEED = 20260714

_MIXED = string.ascii_letters + string.digits
_SPECIAL = "!@#$%^*+?-_.,;&~/="


@dataclass(frozen=True)
class Kind:
    """A sort of credential: the names it goes by (none where its shape says enough), and how one is drawn."""

    name: str
    fields: tuple[str, ...]
    draw: Callable[[random.Random], str]


@dataclass(frozen=True)
class Case:
    """A credential of a kind in a place."""

    kind: str
    place: Place
    field: str
    secret: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.kind} in {self.place.name}"


def _of(alphabet: str, size: int) -> Callable[[random.Random], str]:
    """Characters of an alphabet, a letter and a digit among them where it has both."""

    def draw(chance: random.Random) -> str:
        while True:
            text = "".join(chance.choices(alphabet, k=size))
            if any(each.isdigit() for each in text) and any(each.isalpha() for each in text):
                return text

    return draw


def _led(prefix: str, alphabet: str, size: int) -> Callable[[random.Random], str]:
    return lambda chance: prefix + _of(alphabet, size)(chance)


def _password(chance: random.Random) -> str:
    """As people make them: a word or two, digits, special characters."""
    words = [chance.choice(["Winter", "blue", "Kestrel", "tram", "Ocean", "maple", "Quartz", "river"]) for _ in "ab"]
    marks = "".join(chance.choices("!@#$%^*&+?", k=2))
    return f"{words[0]}{marks[0]}{words[1]}{chance.randrange(10, 9999)}{marks[1]}"


def _generated(chance: random.Random) -> str:
    """As a password manager makes them: anything but white space, quotes, brackets and backslashes."""
    while True:
        text = "".join(chance.choices(_MIXED + _SPECIAL, k=16))
        if text[0].isalnum() and text[-1].isalnum() and any(each.isdigit() for each in text):
            return text


def _token_of_three(chance: random.Random) -> str:
    body = _of(_MIXED + "-_", 40)(chance)
    return f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIx{body}.{_of(_MIXED, 43)(chance)}"


HEX = "0123456789abcdef"
ID = (8, 4, 4, 4, 12)
"""How many characters each part of an id has."""
_PASSWORDS = ("password", "DB_PASSWORD", "passwd", "pw", "user_password", "SMTP_PASS", "passphrase")
_KEYS = ("api_key", "OPENAI_API_KEY", "apiKey", "X-Api-Key", "secret_key", "accessKey", "ACCOUNT_KEY")
_SECRETS = ("client_secret", "clientSecret", "X-Secret", "WEBHOOK_SECRET", "app_secret", "JWT_SECRET")
_TOKENS = ("access_token", "refreshToken", "auth_token", "SESSION_TOKEN", "bot_token", "X-Auth-Token")

KINDS = (
    Kind("password", _PASSWORDS, _password),
    Kind("generated password", _PASSWORDS, _generated),
    Kind("short password", _PASSWORDS, _of(_MIXED, 9)),
    Kind("hexadecimal key", _KEYS, _of(HEX, 32)),
    Kind("letters and digits", _KEYS, _of(_MIXED, 40)),
    Kind(
        "client secret", _SECRETS, lambda chance: _of(_MIXED, 8)(chance) + "~" + _of(_MIXED + "-_.", 30)(chance) + "z"
    ),
    Kind("base64 secret", _SECRETS, lambda chance: _of(_MIXED + "+/", 43)(chance) + "="),
    Kind("opaque token", _TOKENS, _of(_MIXED + "-_", 36)),
    Kind("token in the form of an id", _TOKENS, lambda chance: "-".join(_of(HEX, n)(chance) for n in ID)),
    Kind("AWS secret", ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey"), _of(_MIXED + "+/", 40)),
    Kind("OpenAI", (), _led("sk-proj-", _MIXED + "-_", 64)),
    Kind("OpenAI, old", (), _led("sk-", _MIXED, 48)),
    Kind("Anthropic", (), _led("sk-ant-api03-", _MIXED + "-_", 93)),
    Kind("AWS key id", (), _led("AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    Kind("Google", (), _led("AIza", _MIXED + "-_", 35)),
    Kind("Google OAuth", (), _led("ya29.", _MIXED + "-_", 60)),
    Kind("Google client", (), _led("GOCSPX-", _MIXED + "-_", 28)),
    Kind("GitHub", (), _led("ghp_", _MIXED, 36)),
    Kind("GitHub, fine", (), _led("github_pat_", _MIXED, 60)),
    Kind("GitLab", (), _led("glpat-", _MIXED + "-_", 20)),
    Kind("Slack", (), lambda chance: f"xoxb-{chance.randrange(10**11, 10**12)}-{_of(_MIXED, 24)(chance)}"),
    Kind("Hugging Face", (), _led("hf_", string.ascii_letters + "012", 34)),
    Kind("npm", (), _led("npm_", _MIXED, 36)),
    Kind("PyPI", (), _led("pypi-AgEIcHlwaS5vcmc", _MIXED + "-_", 80)),
    Kind("Stripe", (), _led("sk_live_", _MIXED, 24)),
    Kind("SendGrid", (), lambda chance: f"SG.{_of(_MIXED, 22)(chance)}.{_of(_MIXED, 43)(chance)}"),
    Kind("Groq", (), _led("gsk_", _MIXED, 52)),
    Kind("Vault", (), _led("hvs.", _MIXED, 40)),
    Kind("Grafana", (), _led("glsa_", _MIXED, 41)),
    Kind("web token", (), _token_of_three),
    Kind("Telegram", (), lambda chance: f"{chance.randrange(10**8, 10**9)}:AA{_of(_MIXED, 33)(chance)}"),
)


def cases(rounds: int = 1, seed: int = SEED) -> Iterator[Case]:
    """Every kind in every place that can hold it, ``rounds`` times."""
    chance = random.Random(seed)
    for _ in range(rounds):
        for place in (*DOCUMENTS, *ANSWERS):
            for kind in KINDS:
                if place.named and not kind.fields:
                    continue  # its rules are about names
                if place.unnamed and kind.fields:
                    continue  # nothing there says what it is
                for _ in range(50):
                    field = chance.choice(kind.fields) if kind.fields else "note"
                    secret = kind.draw(chance)
                    if place.holds(field, secret):
                        yield Case(kind.name, place, field, secret)
                        break


def look_alikes(seed: int = SEED, rounds: int = 4) -> Iterator[tuple[str, str]]:
    """Texts in which nothing is a credential: what it is called, and the text."""
    chance = random.Random(seed)
    for _ in range(rounds):
        for name, draw in _LOOK_ALIKES.items():
            yield name, draw(chance)


def _hex(size: int) -> Callable[[random.Random], str]:
    return lambda chance: "".join(chance.choices(HEX, k=size))


def _uuid(chance: random.Random) -> str:
    return "-".join(_hex(n)(chance) for n in ID)


def _base64_of(size: int, lead: bytes) -> Callable[[random.Random], str]:
    return lambda chance: base64.b64encode(lead + chance.randbytes(size)).decode()


_b = _of(_MIXED, 24)
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"

_LOOK_ALIKES: dict[str, Callable[[random.Random], str]] = {
    "uuid": lambda c: f'{{"id": "{_uuid(c)}", "trace": "{_uuid(c)}"}}',
    "uuid in a log": lambda c: f"2026-01-01 10:00:00 INFO request {_uuid(c)} done in 12 ms",
    "sha-256": lambda c: f'{{"sha256": "{_hex(64)(c)}", "etag": "W/\\"{_hex(32)(c)}\\""}}',
    "commit": lambda c: f"commit {_hex(40)(c)}\nAuthor: Ann <ann@example.com>\n\n    Rename key of table",
    "short commit": lambda c: f"{_hex(7)(c)} Fix tokenizer; see {_hex(12)(c)}",
    "digest of an image": lambda c: f"registry.example.com/app@sha256:{_hex(64)(c)}",
    "log-probability": lambda c: f'{{"logprobs": {{"content": [{{"token": "{_b(c)}", "logprob": -0.31}}]}}}}',
    "counts": lambda c: f'{{"max_tokens": {c.randrange(9999)}, "usage": {{"prompt_tokens": 3, "total_tokens": 9}}}}',
    "rate limits": lambda c: f"x-ratelimit-remaining-tokens: {c.randrange(10**6)}\nx-ratelimit-reset-tokens: 6m0s",
    "schema": lambda c: '{"properties": {"password": {"type": "string"}, "api_key": {"type": "string"}}}',
    "required": lambda c: '{"required": ["api_key", "password", "client_secret"], "token": {"type": "string"}}',
    "described": lambda c: '{"name": "api_key", "description": "The API key of your account", "type": "string"}',
    "version": lambda c: f"requests=={c.randrange(9)}.{c.randrange(99)}.{c.randrange(99)} token-bucket==0.3.0",
    "dotted": lambda c: "com.example.service.auth.TokenProvider.getAccessTokenFactory.create",
    "scp": lambda c: "git clone git@github.com:owner/token-service.git && cd token-service",
    "git over ssh": lambda c: "ssh://git@github.com:22/owner/repository.git",
    "mail": lambda c: "mailto:ann.password@example.com, https://example.com/@ann/posts/12",
    "image": lambda c: f'{{"url": "data:image/png;base64,{_base64_of(600, _PNG)(c)}"}}',
    "bytes": lambda c: f'{{"audio": "{_base64_of(900, b"RIFF")(c)}"}}',
    "embedding": lambda c: f'{{"embedding": "{_base64_of(1024, b"")(c)}"}}',
    "protocol ids": lambda c: f'{{"id": "call_{_b(c)}", "tool_call_id": "toolu_{_b(c)}", "model": "gpt-4o-mini"}}',
    "ids": lambda c: f'{{"id": "msg_{_b(c)}", "request_id": "req_{_b(c)}", "system_fingerprint": "fp_{_hex(10)(c)}"}}',
    "signature": lambda c: f'{{"type": "thinking", "thinking": "hm", "signature": "{_base64_of(300, b"")(c)}"}}',
    "encrypted": lambda c: f'{{"type": "reasoning", "encrypted_content": "gAAAAA{_base64_of(300, b"")(c)}"}}',
    "prices": lambda c: f'{{"price": {c.random() * 100:.2f}, "sku": "AB-{c.randrange(10**6)}", "currency": "EUR"}}',
    "minified": lambda c: (
        "!function(e,t){var n=e.token||t.key;return n&&n.length>8?n:null}(window,{key:'id',pass:!0});"
    ),
    "source": lambda c: "def login(user, password=None, token=''):\n    return client.auth(user, password=password)",
    "environment": lambda c: "client = OpenAI(api_key=os.environ['OPENAI_API_KEY'], token=settings.token)",
    "template": lambda c: "password: ${DB_PASSWORD}\ntoken: {{ vault.token }}\nsecret: <your secret>\napi_key=$API_KEY",
    "prose": lambda c: "the password must have 8 characters, a digit and a letter; the token expires after 30 days",
    "prose, colon": lambda c: "About your password: it must be changed in 90 days. Secret: nobody reads this.",
    "question": lambda c: "Which API key should I use? The secret key is stored in the vault, the token is refreshed.",
    "masked": lambda c: '{"password": "********", "api_key": "sk-...abcd", "token": "[REDACTED]", "secret": ""}',
    "page tokens": lambda c: f'{{"next_page_token": "{_b(c)}", "nextPageToken": "{_b(c)}", "cursor": "{_b(c)}"}}',
    "cache": lambda c: (
        f'{{"cache_key": "{_hex(32)(c)}", "primary_key": "id", "sort_key": "created", "key": "users:1"}}'
    ),
    "path": lambda c: f"/usr/lib/python3.12/site-packages/keyring/backends/token_{c.randrange(99)}.py",
    "windows path": lambda c: r"D:\data\ann\programs\token\password_reset.html",
    "link": lambda c: f"https://example.com/reset-password?page={c.randrange(9)}&lang=en&id={c.randrange(10**8)}#token",
    "escaped link": lambda c: "https://example.com/search?q=how%20to%20reset%20a%20password%3F&hl=en",
    "table": lambda c: "| name | type | note |\n| password | text | required |\n| token | text | optional |",
    "sql": lambda c: "SELECT id, password_hash, token FROM users WHERE key = 'a' AND password IS NOT NULL",
    "types": lambda c: "interface Login { password: string; apiKey?: string; token: Token | undefined }",
    "yaml": lambda c: "properties:\n  password:\n    type: string\n  token:\n    type: string\n    minLength: 8",
    "help": lambda c: "usage: tool [--password PASSWORD] [--token TOKEN] [-u USER:PASSWORD] [-p PORT] [--api-key KEY]",
    "error": lambda c: '401 Unauthorized: invalid api key provided; password authentication failed for user "app"',
    "port": lambda c: "ssh -p 2222 -u deploy host.example.com; docker run -p 8080:80 -u 1000:1000 app:1.2.3",
    "kubernetes": lambda c: (
        "secretName: web-tls\nimagePullSecrets:\n- name: registry\nsecretKeyRef:\n  name: db\n  key: host"
    ),
    "base64 of text": lambda c: base64.b64encode(f"Hello {c.randrange(10**6)}, how are you?".encode()).decode(),
    "hex of text": lambda c: f"the weather on day {c.randrange(10**6)} is fine".encode().hex(),
    "times": lambda c: f'{{"created": {c.randrange(10**9)}, "at": "2026-01-01T10:00:00.{c.randrange(10**6)}Z"}}',
    "coordinates": lambda c: f"POINT({c.random() * 90:.6f} {c.random() * 90:.6f}) zoom=12&key=map",
    "multipart": lambda c: '--b1\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--b1--\r\n',
    "cookie settings": lambda c: "Cookie: theme=dark; lang=en; consent=yes",
    "css": lambda c: ".token.key{color:#9f3a2b} .password-field{margin:0 4px;width:100%}",
    "dataclass": lambda c: "Login(user='ann', password=None, token='', attempts=3, secret=False)",
    "licence": lambda c: f'SPDX-License-Identifier: MIT\nchecksum = "{_hex(64)(c)}"\nname = "secrecy"',
    "lock file": lambda c: f'"integrity": "sha512-{_base64_of(64, b"")(c)}"',
    "numbers": lambda c: ", ".join(str(c.randrange(10**12)) for _ in range(6)),
    "slug": lambda c: "how-to-rotate-your-api-key-without-downtime-in-5-steps, task-4711-token-refresh",
}
"""What is no credential, and is easily taken for one."""
