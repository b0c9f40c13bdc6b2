"""The table of steps with a growing state: ours and each neighbour in the same columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from bench.goals import States
from bench.rounds import Figure, Metrics, paired, values

_COLUMNS = {
    "step_ms": "step, median",
    "last_ms": "the last ones",
    "thread_ms": "its thread alone",
    "thread_last_ms": "the last ones",
    "kept": "kept of new",
    "newest_ms": "newest 100",
}
_WIDTH = 20


def render_states(
    states: Sequence[States], steps: int, results: Mapping[tuple[int, str], Metrics], missing: Mapping[str, str]
) -> str:
    """The table; behind a figure of ours how many times dearer the best neighbour is, inside rounds."""
    if not states:
        return ""
    neighbours = [f"{each.case}[{steps}]" for each in states if each.sort == "neighbour"]
    lines = [
        f"{f'{steps} steps, each with its growing state':42s}"
        + "".join(f"{each:>{_WIDTH}s}" for each in _COLUMNS.values())
    ]
    for each in states:
        case = f"{each.case}[{steps}]"
        if case in missing:
            lines.append(f"{each.title:42s}  not measured: {missing[case]}")
            continue
        rivals = neighbours if each.sort == "ours" else []
        lines.append(
            f"{each.title:42s}" + "".join(f"{_cell(case, name, rivals, results):>{_WIDTH}s}" for name in _COLUMNS)
        )
    return "\n".join(lines)


def _cell(case: str, name: str, rivals: Sequence[str], results: Mapping[tuple[int, str], Metrics]) -> str:
    own = values(results, Figure(case, name))
    if not own:
        return "-"
    ratios = [
        median(found)
        for each in rivals
        if (found := paired(own, values(results, Figure(each, name)), ours_on_top=False))
    ]
    shown = f"{median(own.values()):.2f}" + (" ms" if name.endswith("_ms") else " times")
    return shown + (f" ({min(ratios):.1f}x)" if ratios else "")
