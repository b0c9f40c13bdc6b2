"""The site of the documents: ``make site`` builds it with Sphinx, MyST and Furo.

Its source is the checkout, so that links between the pages are the same here and where they are read as files.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pygments.lexers.data import JsonLexer

_ROOT = Path(__file__).resolve().parent.parent

project = "reenact"
author = "The reenact authors"
project_copyright = author
release = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "examples/README.md",
    "examples/**/README.md",
    "tests/README.md",
    "tests/**/README.md",
]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"reenact {release}"
html_copy_source = False


def setup(app: Any) -> None:
    """JSON Lines is coloured as JSON."""
    app.add_lexer("jsonl", JsonLexer)
