"""What the gate takes away never takes the structure along: JSON stays JSON, with the same fields and lengths."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.privacy.eraser import Eraser

PIECES = st.sampled_from(
    [
        *(
            "password",
            '"password":',
            "'password': '",
            "Password:', ",
            "api_key=",
            "<password>",
            "</password>",
            "--token ",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "https://u:p4ssw0rd@h/",
            "Bearer abcdef0123456789",
        ),
        *(
            '"',
            "'",
            "\\",
            "\n",
            "\\n",
            '\\"',
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            " ",
            "hunter2!",
            "sk-abcdefghij0123456789abcd",
        ),
        *("secret", "é", "\ud800", "\x00"),
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)
DOCUMENTS = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4) | inner.map(json.dumps),
    max_leaves=8,
)


def shape(value: Any) -> Any:
    """A document without what its strings and numbers say."""
    if isinstance(value, dict):
        return [shape(part) for part in value.values()]
    if isinstance(value, list):
        return [shape(part) for part in value]
    return type(value).__name__ if not isinstance(value, (int, str)) else "leaf"


@given(DOCUMENTS.filter(lambda value: isinstance(value, (dict, list))))
def test_json_stays_json(document: Any) -> None:
    eraser = Eraser(b"k" * 32)
    text = json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")
    cleaned = eraser.text(text).decode("utf-8", "surrogatepass")
    assert shape(json.loads(cleaned)) == shape(document)


@given(DOCUMENTS)
def test_a_value_keeps_its_shape(document: Any) -> None:
    assert shape(Eraser(b"k" * 32).json(document, "field")) == shape(document)


@pytest.mark.parametrize(
    "source",
    [
        """self.assertIn('Password:', stderr.getvalue())\n\nif __name__ == "__main__":\n    main()\n""",
        """b"-----BEGIN PRIVATE KEY-----" * 350_000,\nb"\\\\" * 10_000""",
        """'<password>' in "a" or ">" in b""",
    ],
    ids=["an assertion", "a header without a key", "a tag"],
)
def test_a_source_file_in_a_document(source: str) -> None:
    text = json.dumps({"read_file": source, "next": "<b>"}).encode()
    assert set(json.loads(Eraser(b"k" * 32).text(text))) == {"read_file", "next"}


def test_a_password_in_a_literal_goes_all_the_same() -> None:
    text = json.dumps({"read_file": "connect(password='hunter2!Xy')\nnext_line = 'it'\n"}).encode()
    cleaned = json.loads(Eraser(b"k" * 32).text(text))["read_file"]
    assert "hunter2" not in cleaned
    assert cleaned.endswith("')\nnext_line = 'it'\n")
