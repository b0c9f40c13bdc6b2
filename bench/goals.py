"""What is measured, against what, and the goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bench.rounds import Case, Figure, Row

NAMES = {
    "plain_transport[10]": "plain transport",
    "plain_transport[1000]": "plain transport",
    "plain_transport[100000]": "plain transport",
    "vcr_http[1000]": "vcrpy",
    "vcr_first_chunk": "vcrpy",
    "import_vcr": "vcrpy",
    "cassette_test[100]": "pytest-recording + vcrpy",
    "starts": "a bare interpreter",
    "import_standard": "asyncio, sqlite3 & co.",
    "fsync[200]": "one fsync",
    "long_rows[200]": "one json.dumps",
    "frozen_http[10]": "itself at 10 calls",
    "open_run[100]": "itself at 100 events",
    "frozen_tool[1000]": "a replay of it",
    "growing_list[10000]": "step 10",
    "growing_list[100000]": "step 10",
    "dbos_fork[1000]": "DBOS's fork",
    "temporal_replay[1000]": "Temporal's replayer",
    "temporal_replay_bare[1000]": "the same, no sandbox",
    "langgraph_history[1000]": "LangGraph",
    "langgraph_newest[1000]": "LangGraph",
    "mlflow_spans[1000]": "MLflow",
    "langfuse_spans[1000]": "Langfuse",
}
"""What the other side of a comparison is called in the table."""


class States(NamedTuple):
    """A line of the table of steps with a growing state.

    Attributes:
        title: What keeps the states.
        case: What measures it.
        sort: ``ours``, ``neighbour`` or ``floor``.
    """

    title: str
    case: str
    sort: str


STATES = (
    States("reenact, whole state", "steps_whole", "ours"),
    States("reenact, grows", "steps_grows", "ours"),
    States("reenact, LangChain's messages", "steps_models", "ours"),
    States("reenact, LangChain's messages, grows", "steps_grows_models", "ours"),
    States("LangGraph SQLite, delta channel", "steps_langgraph_delta", "neighbour"),
    States("LangGraph SQLite, default", "steps_langgraph", "neighbour"),
    States("DBOS SQLite", "steps_dbos", "neighbour"),
    States("one gzip a step (naive)", "steps_gzip", "neighbour"),
    States("deltas, an insert each (floor)", "steps_limit", "floor"),
)
STEPS = 200
"""Steps of each of their runs."""

SLOW = {
    "find_runs": 1,
    "import_traces": 3,
    "mlflow_spans": 3,
    "langfuse_spans": 3,
    "long_bytes": 1,
    "long_text": 1,
    "long_rows": 1,
    "golden_test": 3,
    "cassette_test": 3,
    "collect_goldens": 3,
    "growing_list[10000]": 3,
    "growing_list[100000]": 1,
    "vcr_http": 3,
    "plain_transport[100000]": 2,
    "frozen_http[100000]": 2,
    "open_run[100000]": 2,
    "look_up[100000]": 2,
    "watch[100000]": 3,
    "run_goldens_of_20": 3,
    "build_features": 2,
    "triage[100000]": 2,
    "langgraph_history": 1,
    "langgraph_newest": 1,
    "kept_grows": 1,
    "kept_whole": 1,
    **dict.fromkeys((each.case for each in STATES), 3),
    "dbos_fork": 3,
    "temporal_replay": 3,
    "temporal_replay_bare": 3,
}
"""Largest number of rounds for cases that take long."""


def rows(*, full: bool) -> list[Row]:
    """The table's rows; ``full`` adds the runs of 100,000 calls."""
    return [
        *recording(),
        *growing(10_000),
        *(growing(100_000) if full else ()),
        *kept(full=full),
        *long_values(),
        *replaying(full=full),
        *forking(),
        *moving(full=full),
        *finding(100_000 if full else 10_000),
        *testing(full=full),
        *triaging(full=full),
        *beside_engines(),
        *starting(),
    ]


def recording() -> list[Row]:
    """What recording costs the agent."""
    read, model, write = ("record_read[400]", "record_model[400]", "durable_write[200]")
    added, kept, chunk = Figure(model, "added_us"), Figure(model, "save_ms"), Figure("first_chunk", "later_ms")
    vcr, large, grown, models = "vcr_http[1000]", "large_argument[20]", "grown_state[200]", "grown_models[200]"
    sent, whole = "spans[1000]", Figure("spans[1000]", "whole_us")
    by_mlflow, by_langfuse = (Figure(f"{each}_spans[1000]", "thread_us") for each in ("mlflow", "langfuse"))
    traces = "import_traces[2000]"
    return [
        Row("record an HTTP read: added in the agent's thread", Figure(read, "added_us"), "µs", "most", 60),
        Row("  the thread's own work alone", Figure(read, "added_work_us"), "µs", "most", 60),
        Row("  mean, with waits for the background writer", Figure(read, "added_mean_us"), "µs"),
        Row("record a model call: added in the agent's thread", added, "µs", "most", 60),
        Row("  the thread's own work alone", Figure(model, "added_work_us"), "µs", "most", 60),
        Row("  mean, with waits for the background writer", Figure(model, "added_mean_us"), "µs"),
        Row("  median, against a neighbour", added, "µs", "faster", 3, Figure(vcr, "added_us")),
        Row("200 calls, 3 to 590 KB: the last over the first", Figure("resent[200]", "record_us"), "µs", "most", 500),
        Row("  replayed", Figure("resent[200]", "replay_us"), "µs", "most", 500),
        Row("  what the client itself needs more", Figure("resent[200]", "live_us"), "µs"),
        Row("record a write that is handed 3 MB: agent's processor", Figure(large, "agent_ms"), "ms", "most", 30),
        Row("  in all", Figure(large, "all_ms"), "ms", "most", 60),
        Row("  in all, against json.dumps of it", Figure(large, "all_ms"), "ms", "shown", 0, Figure(large, "dumps_ms")),
        Row("  at its first sight", Figure(large, "first_ms"), "ms"),
        Row("a step whose state is 200 turns: agent's processor", Figure(grown, "agent_ms"), "ms", "most", 3),
        Row("  against walking it once", Figure(grown, "agent_ms"), "ms", "shown", 0, Figure(grown, "walk_ms")),
        Row("  on the average of them, in all", Figure(grown, "mean_ms"), "ms"),
        Row("a step whose state is 200 turns of LangChain's", Figure(models, "agent_ms"), "ms"),
        Row("  a look against pickle.dumps", Figure(models, "agent_ms"), "ms", "shown", 0, Figure(models, "walk_ms")),
        Row("look for credentials in a MiB, first sight", Figure("clean_body[500]", "first_ms"), "ms", "most", 300),
        Row("  with a scanner", Figure("clean_body[500]", "scanned_ms"), "ms"),
        Row("  real trajectories", Figure("clean_body[500]", "real_ms"), "ms", "most", 300),
        Row("  real trajectories, with a scanner", Figure("clean_body[500]", "real_scanned_ms"), "ms", "most", 80),
        Row("  one string, a patch", Figure("clean_body[500]", "patch_ms"), "ms", "most", 300),
        Row("  seen before", Figure("clean_body[500]", "again_ms"), "ms", "most", 50),
        Row("  seen before, its oldest messages gone", Figure("clean_body[500]", "shorter_ms"), "ms", "most", 50),
        Row("left to save at close: 400 reads", Figure(read, "save_ms"), "ms"),
        Row("  400 model calls (neighbour 1,000)", kept, "ms", "faster", 20, Figure(vcr, "save_ms")),
        Row("  a run without any call", Figure("empty_run", "save_ms"), "ms"),
        Row(
            "record a write: added, its intent durable first",
            Figure(write, "added_us"), "µs", "shown", 0, Figure("fsync[200]", "us"),
        ),
        Row("send a span of a recorded call: agent's thread", Figure(sent, "thread_us"), "µs", "most", 20),
        Row("  by the clock, with the threads beside it", Figure(sent, "wall_us"), "µs"),
        Row("  what a span costs there by itself", Figure("sdk_spans[1000]", "thread_us"), "µs"),
        Row("  the whole call, recorded and sent; MLflow's span", whole, "µs", "shown", 0, by_mlflow),
        Row("  the same; Langfuse's span", whole, "µs", "shown", 0, by_langfuse),
        Row("import a span of 1 KB without content, 1,500 a second", Figure(traces, "span_us"), "µs", "most", 667),
        Row("  with a scanner, 5,000 a second", Figure(traces, "scanned_us"), "µs", "most", 200),
        Row("  a MiB of spans with content, 1.5 MiB a second", Figure(traces, "mib_ms"), "ms", "most", 667),
        Row("  with a scanner, 5 MiB a second", Figure(traces, "scanned_mib_ms"), "ms", "most", 200),
        Row("  without gate and store, 12 MiB a second", Figure(traces, "read_mib_ms"), "ms", "most", 83),
        Row("first chunk of a stream: later than unrecorded", chunk, "ms", "most", 0.3),
        Row("  against a neighbour", chunk, "ms", "faster", 60, Figure("vcr_first_chunk", "later_ms")),
    ]  # fmt: skip


def growing(size: int) -> list[Row]:
    """What a step costs whose list is declared to grow only, beside one at the beginning of its run."""
    case = f"growing_list[{size}]"
    first, every = Figure(case, "first_us"), Figure(case, "first_all_us")
    return [
        Row(f"a step whose list grows, step {size:,}: agent", Figure(case, "last_us"), "µs", "times", 1.2, first),
        Row("  the whole process", Figure(case, "last_all_us"), "µs", "times", 1.2, every),
        Row("  the longest proof on the way", Figure(case, "proof_ms"), "ms"),
        Row("  the last proof, at the end", Figure(case, "last_proof_ms"), "ms"),
        Row("  kept, of what is new", Figure(case, "kept"), "times"),
    ]


def kept(*, full: bool) -> list[Row]:
    """What a store of eight runs of 1,000 steps keeps of what is new in their states; ``full`` adds whole states."""
    found = [
        Row(
            "kept of 8 runs, of what is new: lists that grow", Figure("kept_grows[1000]", "kept"), "times", "most", 0.45
        )
    ]
    if full:
        found.append(Row("  whole states given", Figure("kept_whole[1000]", "kept"), "times", "most", 0.45))
    return found


def long_values() -> list[Row]:
    """What a tool's value of 200 MiB costs beside itself."""
    data, text, listed = "long_bytes[200]", "long_text[200]", "long_rows[200]"
    return [
        Row("record 200 MiB of bytes: memory beside them", Figure(data, "record_mib"), "MiB", "most", 64),
        Row("  replay them", Figure(data, "replay_mib"), "MiB", "most", 64),
        Row("record 200 MiB of text: memory beside it", Figure(text, "record_mib"), "MiB", "most", 64),
        Row("  replay it", Figure(text, "replay_mib"), "MiB", "most", 64),
        Row("record 200 MiB of records: beside an encoded copy", Figure(listed, "record_mib"), "MiB", "most", 64),
        Row("  the agent's processor", Figure(listed, "call_ms"), "ms", "times", 1.2, Figure(listed, "dumps_ms")),
        Row("  replay them, beside themselves", Figure(listed, "replay_mib"), "MiB"),
    ]


def replaying(*, full: bool) -> list[Row]:
    """What a replay costs."""
    found: list[Row] = []
    for size in (10, 1000, 100_000) if full else (10, 1000):
        found += frozen(size)
    opened, vcr = Figure("open_run[1000]", "ms"), "vcr_http[1000]"
    found += [
        Row(
            "  1,000 in the run, against a neighbour",
            Figure("frozen_http[1000]", "replay_us"), "µs", "faster", 35, Figure(vcr, "replay_us"),
        ),
        Row("open a run of 1,000 events", opened, "ms", "most", 1),
        Row("  against a neighbour", opened, "ms", "faster", 300, Figure(vcr, "open_ms")),
    ]  # fmt: skip
    if full:
        found.append(Row("open a run of 100,000 events", Figure("open_run[100000]", "ms"), "ms", "most", 1))
    return [*found, Row("frozen tool call re-executed", Figure("frozen_tool[5000]", "us"), "µs", "most", 19)]


def forking() -> list[Row]:
    """What it costs to get to the branching event of a fork."""
    prefix, replayed = "fork[1000]", Figure("frozen_tool[1000]", "us")
    return [
        Row("fork behind 1,000 events: CPU before its first live call", Figure(prefix, "cpu_ms"), "ms", "most", 1000),
        Row("  a frozen call before it, kept in the fork too", Figure(prefix, "us"), "µs", "shown", 0, replayed),
    ]


def moving(*, full: bool) -> list[Row]:
    """What it costs to look around in a run, and to compare two."""
    sizes = (10_000, 100_000) if full else (10_000,)
    found = []
    for size in sizes:
        looks, watched = f"look_up[{size}]", f"watch[{size}]"
        # What a watch may take is told for 100,000 events; it grows with them.
        found += [
            Row(f"the slowest look-up in {size:,} events", Figure(looks, "slowest_ms"), "ms", "most", 100),
            Row("  the state at an event", Figure(looks, "state_ms"), "ms"),
            Row("  who set a value last", Figure(looks, "last_set_ms"), "ms"),
            Row("  the same, of a value that never changed", Figure(looks, "last_set_never_ms"), "ms"),
            Row("  the same, below a slot that always did", Figure(looks, "last_set_deep_ms"), "ms", "most", 100),
            Row(f"a watch over {size:,} events", Figure(watched, "head_ms"), "ms", "most", 2000 * size / 100_000),
            Row("  over every answer", Figure(watched, "payload_ms"), "ms", "most", 2000 * size / 100_000),
            Row("  over every state", Figure(watched, "state_ms"), "ms", "most", 2000 * size / 100_000),
            Row("  its first hit", Figure(watched, "first_hit_ms"), "ms"),
        ]
    return [
        *found,
        Row("two runs of 1,000 events: first difference", Figure("diff[1000]", "first_ms"), "ms", "most", 50),
        Row("  all of them, with patches", Figure("diff[1000]", "full_ms"), "ms", "most", 1000),
        Row("the newest 100 of 1,000 steps", Figure("list_steps[1000]", "newest_ms"), "ms"),
        Row("  all of them", Figure("list_steps[1000]", "all_ms"), "ms"),
        Row("  all of them with their states", Figure("list_steps[1000]", "states_ms"), "ms"),
    ]


def finding(size: int) -> list[Row]:
    """What it costs to find the newest hundred runs of a filter among so many."""
    case = f"find_runs[{size}]"
    of = {
        "by user": "user", "by tenant": "tenant", "by a label of most": "tag_of_most", "by time": "time",
        "a rare word": "rare_word", "a word of every second run": "word_of_half", "a word of every run": "word_of_all",
        "the beginning of a word of every run": "beginning_of_all", "a word of every run, by one user": "word_and_user",
        "a status that none has": "no_status", "a tenant that none has": "no_tenant",
        "two names that none has together": "no_pair_of_many",
    }  # fmt: skip
    return [
        Row(f"the slowest filter among {size:,} runs", Figure(case, "slowest_ms"), "ms", "most", 50),
        *(Row(f"  {title}", Figure(case, f"{name}_ms"), "ms") for title, name in of.items()),
        Row("  the newest hundred", Figure(case, "newest_ms"), "ms", "most", 1),
    ]


def testing(*, full: bool) -> list[Row]:
    """What it costs to keep runs as tests; ``full`` runs a thousand goldens, else a hundred are taken times ten."""
    size = 1000 if full else 100
    case = f"run_goldens_of_20[{size}]"
    scaled = "" if full else " (100, scaled)"
    replayed, neighbour = Figure("golden_test[100]", "ms"), Figure("cassette_test[100]", "ms")
    return [
        Row("a replayed test of one call, over an empty one", replayed, "ms", "most", 2),
        Row("  against a neighbour", replayed, "ms", "shown", 0, neighbour),
        Row(
            "  the same in processor time",
            Figure("golden_test[100]", "cpu_ms"),
            "ms",
            "shown",
            0,
            Figure("cassette_test[100]", "cpu_ms"),
        ),
        Row(
            "collect 1,000 goldens, over as many parameters", Figure("collect_goldens[1000]", "ms"), "ms", "most", 1000
        ),
        Row("the plugin unused: its import, over pytest", Figure("import_plugin", "ms"), "ms", "most", 5),
        Row(f"run 1,000 goldens of 20 calls{scaled}", Figure(case, "s_of_1000"), "s", "most", 60),
        Row("  CPU of each beyond the agent's own and its imports", Figure(case, "beyond_ms"), "ms", "most", 25),
        Row("  the agent's own, which comes to it", Figure(case, "own_ms"), "ms"),
        Row("find 1,000 goldens", Figure("find_goldens[1000]", "ms"), "ms", "most", 1000),
    ]


def triaging(*, full: bool) -> list[Row]:
    """What it costs to see what fails alike; ``full`` adds the triage of 100,000 runs."""
    closes, older = "close_features[100]", "build_features[1000]"
    found = [
        Row("what a run is compared by, when it closes", Figure(closes, "close_ms"), "ms", "most", 2),
        Row("  a record before that", Figure(closes, "record_us"), "µs"),
        Row("the same of older runs, and kits: of 1,000, a run", Figure(older, "run_ms"), "ms"),
        Row("triage of 1,000 runs, with its start", Figure("triage[1000]", "s"), "s", "most", 0.3),
        Row("  by the clock", Figure("triage[1000]", "clock_s"), "s"),
    ]
    if full:
        found += [
            Row("triage of 100,000 runs, with its start", Figure("triage[100000]", "s"), "s", "most", 5),
            Row("  by the clock", Figure("triage[100000]", "clock_s"), "s"),
        ]
    return found


def beside_engines() -> list[Row]:
    """The same work by engines that keep what an agent did, measured by the peers' runner in their own interpreter."""
    frozen, listed = Figure("frozen_tool[1000]", "us"), "list_steps[1000]"
    newest, whole = Figure(listed, "newest_ms"), Figure(listed, "all_ms")
    return [
        Row("a frozen step, against DBOS", frozen, "µs", "faster", 14, Figure("dbos_fork[1000]", "us")),
        Row("  against Temporal", frozen, "µs", "faster", 70, Figure("temporal_replay[1000]", "us")),
        Row("  against Temporal, unsandboxed", frozen, "µs", "faster", 70, Figure("temporal_replay_bare[1000]", "us")),
        Row("the newest 100 of 1,000 steps, against LangGraph", newest, "ms", "faster", 4000,
            Figure("langgraph_newest[1000]", "ms")),
        Row("  all of them", whole, "ms", "faster", 3000, Figure("langgraph_history[1000]", "ms")),
    ]  # fmt: skip


def starting() -> list[Row]:
    """What it costs to have it around."""
    imported = Figure("import_reenact", "ms")
    return [
        Row("idle decorator", Figure("idle_decorator", "us"), "µs", "most", 0.4),
        Row("import reenact, over a bare interpreter", imported, "ms", "most", 35),
        Row("  against a neighbour", imported, "ms", "faster", 5, Figure("import_vcr", "ms")),
        Row(
            "  with the recorder loaded",
            Figure("import_recorder", "ms"), "ms", "shown", 0, Figure("import_standard", "ms"),
        ),
        Row("reenact --help", Figure("show_help", "ms"), "ms", "most", 80),
        *(
            Row(f"  {command}, on the wall", Figure("starts", name), "ms", "times", limit, Figure("starts", "bare"))
            for command, name, limit in (
                ("--help", "help", 8),
                ("ls", "ls", 15),
                ("show @", "show", 15),
                ("record -- python -c pass", "record", 25),
                ("replay @", "replay", 35),
            )
        ),
        Row("record `python -c pass`: processor, both processes", Figure("record_short", "ms"), "ms", "most", 300),
        Row("replay it: processor, both processes", Figure("replay_short", "ms"), "ms", "most", 400),
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
