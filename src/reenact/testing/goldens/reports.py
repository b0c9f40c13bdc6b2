"""Reports of goldens, for people and for CI: a Markdown summary, JUnit XML, and a page for each that did not pass."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from reenact.facts.lazy_regex import lazy_regex
from reenact.testing.goldens.golden_outcome import Outcome

SUMMARY_LIMIT: Final = 900 << 10
"""The most bytes of a summary: services that show it cut it at 1 MiB, and do not say so."""

_WORST: Final = ("refused", "broken", "stale", "failed", "passed")
_CONTROL = lazy_regex("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
"""The characters that XML cannot hold, and no terminal should get."""


def write_reports(folder: Path, outcomes: Sequence[Outcome]) -> list[Path]:
    """Write every report into a folder, which is made; gives the files."""
    written = write_pages(folder, outcomes)
    written.insert(1, folder / "junit.xml")
    written[1].write_bytes(junit(outcomes))
    return written


def write_pages(folder: Path, outcomes: Sequence[Outcome]) -> list[Path]:
    """Write the pages for people into a folder, which is made: a summary, and a page for each golden that did not pass;
    returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {outcome.name: page_name(outcome) for outcome in outcomes if outcome.status != "passed"}
    written = [folder / "summary.md"]
    written[0].write_text(summary(outcomes, pages), encoding="utf-8")
    for outcome in outcomes:
        if outcome.name in pages:
            path = folder / pages[outcome.name]
            path.write_text(page(outcome), encoding="utf-8")
            written.append(path)
    return written


def page_name(outcome: Outcome) -> str:
    """Name of the file of a page."""
    return outcome.name.replace("/", "--") + ".html"


def in_order(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The outcomes in order, worst first."""
    return sorted(outcomes, key=lambda each: (_WORST.index(each.status), each.name))


# --- Markdown --------------------------------------------------------------------------------------------------------


def summary(outcomes: Sequence[Outcome], pages: dict[str, str] | None = None, limit: int = SUMMARY_LIMIT) -> str:
    """A summary in Markdown, worst first, of at most ``limit`` bytes; goldens that do not fit are counted."""
    passed = sum(outcome.status == "passed" for outcome in outcomes)
    head = f"# Goldens: {passed} of {len(outcomes)} passed\n\n"
    parts, size, left = [head], len(head.encode()), 0
    for outcome in in_order(outcomes):
        part = _section(outcome, (pages or {}).get(outcome.name, ""))
        cost = len(part.encode())
        if left or size + cost > limit - 200:
            left += 1
            continue
        parts.append(part)
        size += cost
    if left:
        parts.append(f"\n{left} more did not fit into {limit >> 10} KiB.\n")
    return "".join(parts)


def _section(outcome: Outcome, page: str) -> str:
    judges = f", {outcome.judges}" if outcome.judges else ""
    if outcome.status == "passed":
        unseen = f"  \n  {_clean(outcome.blind_spot)}" if outcome.blind_spot else ""
        return f"- passed: `{_code(outcome.name)}` ({outcome.crossed}{judges}){unseen}\n"
    told = _clean(outcome.message or "\n".join(outcome.differences))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", told)), default=0))
    link = f" ([page]({page}))" if page else ""
    return f"\n## {outcome.status}: `{_code(outcome.name)}`{link}\n\n{fence}text\n{told[:20_000]}\n{fence}\n\n"


def _code(text: str) -> str:
    return text.replace("`", "'")


# --- JUnit -----------------------------------------------------------------------------------------------------------


def junit(outcomes: Sequence[Outcome]) -> bytes:
    """JUnit XML: a test case for each, with its facts as properties."""
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name="goldens",
        tests=str(len(outcomes)),
        failures=str(sum(outcome.status == "failed" for outcome in outcomes)),
        errors=str(sum(outcome.status not in ("passed", "failed") for outcome in outcomes)),
        time=f"{sum(outcome.duration_us for outcome in outcomes) / 1e6:.3f}",
    )
    for outcome in outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", classname="goldens", name=outcome.name, time=f"{outcome.duration_us / 1e6:.3f}"
        )
        properties = ElementTree.SubElement(case, "properties")
        for name, value in facts(outcome):
            ElementTree.SubElement(properties, "property", name=f"reenact.{name}", value=_clean(value))
        if outcome.status != "passed":
            kind = "failure" if outcome.status == "failed" else "error"
            told = _clean(outcome.message or "\n".join(outcome.differences))
            found = ElementTree.SubElement(
                case, kind, type=outcome.status, message=(told.splitlines() or [""])[0][:500]
            )
            found.text = told
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def facts(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """The facts of an outcome as names and texts."""
    yield "status", outcome.status
    yield "run", outcome.recorded
    yield "boundaries", str(outcome.boundaries)
    yield "enforcement", ", ".join(outcome.enforcement)
    for source, count in sorted(outcome.used.items()):
        yield f"used.{source}", str(count)
    for source, count in outcome.opinions.items():
        yield f"opinions.{source}", str(count)
    for number, each in enumerate(outcome.judged):
        yield f"expectation.{number}", f"{'holds' if each.holds else 'fails'}: {each.text}"


# --- HTML ------------------------------------------------------------------------------------------------------------


def page(outcome: Outcome) -> str:
    """One outcome as a page that loads nothing else: no script, no font, no address."""
    title = html.escape(f"{outcome.name}: {outcome.status}")
    judged = "".join(
        f"<tr class={'ok' if each.holds else 'bad'}><td>{'holds' if each.holds else 'fails'}</td>"
        f"<td><code>{_text(each.text)}</code></td><td>{_text(each.seen)}</td>"
        f"<td>{'' if each.event is None else each.event}</td></tr>"
        for each in outcome.judged
    )
    answers = "".join(
        f"<tr><td>{_text(str(each.get('event', '')))}</td><td><code>{_text(str(each.get('name', '')))}</code></td>"
        f"<td>{_text(str(each.get('how', '')))}</td><td>{_text(str(each.get('why', '')))}</td></tr>"
        for each in outcome.answers
    )
    told = _text(outcome.message or "\n".join(outcome.differences))
    sections = [f"<h1>{title}</h1>", f"<pre>{told}</pre>"]
    if judged:
        sections.append(_table("Expectations", ("", "expectation", "seen", "event"), judged))
    if answers:
        sections.append(_table("How each call was answered", ("event", "call", "", "why"), answers))
    rows = "".join(f"<tr><td>{_text(name)}</td><td>{_text(value)}</td></tr>" for name, value in facts(outcome))
    sections.append(_table("Facts", ("", ""), rows))
    return _PAGE.format(title=title, body="\n".join(sections))


def _table(title: str, heads: Sequence[str], rows: str) -> str:
    head = "".join(f"<th>{each}</th>" for each in heads)
    return f"<h2>{title}</h2><table><tr>{head}</tr>{rows}</table>"


def _text(text: str) -> str:
    return html.escape(_clean(text))


def _clean(text: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }}
pre {{ background: #f4f4f2; padding: 1rem; overflow: auto; white-space: pre-wrap; }}
table {{ border-collapse: collapse; width: 100%; }}
td, th {{ border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left; vertical-align: top; }}
.bad td:first-child {{ color: #b00020; font-weight: 600; }}
.ok td:first-child {{ color: #1b6e2d; }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #16181c; color: #e4e4e4; }} pre {{ background: #22252b; }} td, th {{ border-color: #333; }}
}}
</style>
</head>
<body>
{body}
</body>
</html>
"""
