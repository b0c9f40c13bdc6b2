"""What is measured, against what, and the goals."""

from __future__ import annotations

from collections.abc import Sequence

from bench.rounds import Case, Figure, Row

NAMES = {
    "plain_transport[10]": "plain transport",
    "plain_transport[1000]": "plain transport",
    "plain_transport[100000]": "plain transport",
    "vcr_http[1000]": "vcrpy",
    "vcr_first_chunk": "vcrpy",
    "import_vcr": "vcrpy",
    "import_bare": "bare interpreter",
    "fsync[200]": "one fsync",
    "frozen_http[10]": "itself at 10 calls",
    "open_run[100]": "itself at 100 events",
}
"""What the other side of a comparison is called in the table."""

SLOW = {"vcr_http": 3, "plain_transport[100000]": 2, "frozen_http[100000]": 2, "open_run[100000]": 2}
"""Largest number of rounds for cases that take long."""


def rows(*, full: bool) -> list[Row]:
    """The table's rows; ``full`` adds the runs of 100,000 calls."""
    recorded, kept = Figure("record_model[400]", "added_us"), Figure("record_model[400]", "save_ms")
    vcr_added = Figure("vcr_http[1000]", "added_us")
    vcr_saved = Figure("vcr_http[1000]", "save_ms")
    vcr_replayed = Figure("vcr_http[1000]", "replay_us")
    table = [
        Row(
            "record an HTTP read: added in the agent's thread", Figure("record_read[400]", "added_us"), "µs", "most", 60
        ),
        Row("record a model call: added in the agent's thread", recorded, "µs", "most", 60),
        Row("  the same, against a neighbour", recorded, "µs", "faster", 3, vcr_added),
        Row("  left to save at close (400 calls; neighbour 1,000)", kept, "ms", "faster", 20, vcr_saved),
        Row(
            "record a write: added, its intent durable first",
            Figure("durable_write[200]", "added_us"),
            "µs",
            "shown",
            0,
            Figure("fsync[200]", "us"),
        ),
        Row("first chunk of a stream: later than unrecorded", Figure("first_chunk", "later_ms"), "ms", "most", 0.3),
        Row(
            "  the same, against a neighbour",
            Figure("first_chunk", "later_ms"),
            "ms",
            "faster",
            60,
            Figure("vcr_first_chunk", "later_ms"),
        ),
    ]
    for size in (10, 1000, 100_000) if full else (10, 1000):
        table += frozen(size)
    table += [
        Row(
            "  the same at 1,000 calls, against a neighbour",
            Figure("frozen_http[1000]", "replay_us"),
            "µs",
            "faster",
            35,
            vcr_replayed,
        ),
        Row("open a run of 1,000 events", Figure("open_run[1000]", "ms"), "ms", "most", 1),
        Row(
            "  against a neighbour",
            Figure("open_run[1000]", "ms"),
            "ms",
            "faster",
            300,
            Figure("vcr_http[1000]", "open_ms"),
        ),
    ]
    if full:
        table.append(Row("open a run of 100,000 events", Figure("open_run[100000]", "ms"), "ms", "most", 1))
    return [
        *table,
        Row("frozen tool call re-executed", Figure("frozen_tool[5000]", "us"), "µs", "most", 19),
        Row("idle decorator", Figure("idle_decorator", "us"), "µs", "most", 0.4),
        Row("import reenact, over a bare interpreter", Figure("import_reenact", "ms"), "ms", "most", 35),
        Row("  against a neighbour", Figure("import_reenact", "ms"), "ms", "faster", 5, Figure("import_vcr", "ms")),
        Row("  with the recorder loaded", Figure("import_recorder", "ms"), "ms", "most", 35),
        Row("reenact --help", Figure("show_help", "ms"), "ms", "most", 80),
    ]  # fmt: skip


def frozen(size: int) -> list[Row]:
    """Replaying HTTP at one size: against the limit, and against itself at ten calls."""
    ours = Figure(f"frozen_http[{size}]", "replay_us")
    limit = Figure(f"plain_transport[{size}]", "replay_us")
    found = [Row(f"replay an HTTP call, {size:,} in the run", ours, "µs", "times", 1.2, limit)]
    if size > 1000:
        found.append(Row("  flat: against ten calls", ours, "µs", "times", 1.2, Figure("frozen_http[10]", "replay_us")))
    return found


def cases(table: Sequence[Row]) -> list[Case]:
    """Every case that a table needs, once."""
    figures = [figure for row in table for figure in (row.ours, row.against) if figure is not None]
    found = {}
    for key in dict.fromkeys(figure.case for figure in figures):
        name, _, size = key.rstrip("]").partition("[")
        found[key] = Case(name, int(size or 0), SLOW.get(key, SLOW.get(name, 1000)))
    return list(found.values())
