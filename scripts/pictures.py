"""Draw the pictures of the explanation pages from their text, or check that they are current.

python scripts/pictures.py            write an SVG beside each text in docs/explanation/pictures/
python scripts/pictures.py --check    exit status 1 when a picture is stale, or its text names code that is gone

A text is a sequence, one line each::

    Agent | Seam | Session          the columns, first line
    = recorded                      a heading across the picture
    Agent > Seam: get("/orders/7")  an arrow with words
    Session: in the lane's order    a note in one column

Words in backticks are names in the code, as ``module.name`` below ``src/reenact``; ``--check`` looks each of them up.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "explanation" / "pictures"
SOURCES = ROOT / "src" / "reenact"

_COLUMN, _ROW, _MARGIN, _HEAD = 196, 36, 24, 46
_NAME = re.compile(r"`([A-Za-z_/]+)\.([A-Za-z_]+)`")
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}.c{font-weight:600}.h{font-weight:600;fill:#0a5}"
    ".n{fill:#57606a;font-style:italic}line{stroke:#8c959f}.a{stroke:#24292f;marker-end:url(#t)}"
    ".s{stroke:#0a5;stroke-dasharray:2 3}"
)
_ARROW = (
    '<defs><marker id="t" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">'
    '<path d="M0,0 L9,4 L0,8 z" fill="#24292f"/></marker></defs>'
)


def draw(text: str, title: str) -> str:
    """The SVG of a text.

    Raises:
        ValueError: A line is none of the four kinds, or names a column that the first line does not have.
    """
    first, *rest = [line.strip() for line in text.splitlines() if line.strip()]
    columns = [name.strip() for name in first.split("|")]
    middle = {name: _MARGIN + _COLUMN * number + _COLUMN // 2 for number, name in enumerate(columns)}
    width = 2 * _MARGIN + _COLUMN * len(columns)
    height = _HEAD + _ROW * (len(rest) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>{_ARROW}",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for name, x in middle.items():
        parts.append(f'<text class="c" x="{x}" y="26" text-anchor="middle">{escape(name)}</text>')
        parts.append(f'<line x1="{x}" y1="{_HEAD - 8}" x2="{x}" y2="{height - 10}"/>')
    for number, line in enumerate(rest):
        parts += _row(line.replace("`", ""), middle, _HEAD + _ROW * (number + 1) - 10, width)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(line: str, middle: dict[str, int], y: int, width: int) -> list[str]:
    if line.startswith("= "):
        return [
            f'<line class="s" x1="{_MARGIN}" y1="{y + 6}" x2="{width - _MARGIN}" y2="{y + 6}"/>',
            f'<text class="h" x="{_MARGIN}" y="{y}">{escape(line[2:])}</text>',
        ]
    ends, _, words = line.partition(": ")
    source, _, target = (part.strip() for part in ends.partition(" > "))
    if source not in middle or (target and target not in middle):
        raise ValueError(f"no column of this name: {line}")
    if not target:
        return [_words("n", middle[source], y + 4, words)]
    x1, x2 = middle[source], middle[target]
    return [
        f'<line class="a" x1="{x1}" y1="{y + 6}" x2="{x2}" y2="{y + 6}"/>',
        _words("m", (x1 + x2) // 2, y - 2, words),
    ]


def _words(kind: str, x: int, y: int, words: str) -> str:
    """Words over what lies behind them: a white edge keeps lines from crossing letters."""
    edge = 'paint-order="stroke" stroke="#fff" stroke-width="4"'
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="middle" {edge}>{escape(words)}</text>'


def missing(text: str) -> list[str]:
    """The names in backticks that the code does not have."""
    found = []
    for module, name in _NAME.findall(text):
        path = SOURCES / f"{module}.py"
        said = path.read_text(encoding="utf-8") if path.is_file() else ""
        if not re.search(rf"^\s*(?:async def|def|class) {name}\b|^{name}\b", said, re.MULTILINE):
            found.append(f"{module}.{name}")
    return found


def main() -> int:
    """Write the pictures; with ``--check`` only say which are stale."""
    check = sys.argv[1:] == ["--check"]
    bad = []
    for path in sorted(PICTURES.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        bad += [f"{path.name}: the code has no {name}" for name in missing(text)]
        picture = path.with_suffix(".svg")
        drawn = draw(text, path.stem.replace("-", " "))
        if not check:
            picture.write_text(drawn, encoding="utf-8")
        elif not picture.is_file() or picture.read_text(encoding="utf-8") != drawn:
            bad.append(f"{picture.name} is stale: run python scripts/pictures.py")
    print("\n".join(bad) or "the pictures are current")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
