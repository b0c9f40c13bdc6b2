"""The measuring functions, by name: each takes a size and returns its metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.absent import Absent
from bench.cases.code import (
    clean_body,
    fork,
    frozen_tool,
    growing_list,
    grown_models,
    grown_state,
    idle_decorator,
    large_argument,
)
from bench.cases.engines import dbos_fork, langgraph_history, langgraph_newest, temporal_replay, temporal_replay_bare
from bench.cases.finding import find_runs
from bench.cases.golden_batches import find_goldens, run_goldens_of_20
from bench.cases.goldens import cassette_test, collect_goldens, golden_test, import_plugin
from bench.cases.http import (
    durable_write,
    empty_run,
    first_chunk,
    frozen_http,
    fsync,
    open_run,
    record_model,
    record_read,
    resent,
)
from bench.cases.long_values import long_bytes, long_rows, long_text
from bench.cases.neighbours import plain_transport, vcr_first_chunk, vcr_http
from bench.cases.spans import langfuse_spans, mlflow_spans, sdk_spans, spans
from bench.cases.start import (
    import_bare,
    import_recorder,
    import_reenact,
    import_standard,
    import_vcr,
    record_short,
    replay_short,
    show_help,
    starts,
)
from bench.cases.states import (
    kept_grows,
    kept_whole,
    steps_dbos,
    steps_grows,
    steps_grows_models,
    steps_gzip,
    steps_langgraph,
    steps_langgraph_delta,
    steps_limit,
    steps_models,
    steps_whole,
)
from bench.cases.traces import import_traces
from bench.cases.travel import diff, list_steps, look_up, watch
from bench.cases.triage import build_features, close_features, triage

CASES: Mapping[str, Callable[[int], Mapping[str, float]]] = {
    function.__name__: function
    for function in (
        cassette_test,
        collect_goldens,
        dbos_fork,
        diff,
        durable_write,
        empty_run,
        clean_body,
        find_goldens,
        find_runs,
        first_chunk,
        fork,
        frozen_http,
        frozen_tool,
        fsync,
        golden_test,
        growing_list,
        grown_models,
        grown_state,
        idle_decorator,
        import_bare,
        import_plugin,
        import_recorder,
        import_reenact,
        import_standard,
        import_traces,
        import_vcr,
        kept_grows,
        kept_whole,
        langfuse_spans,
        langgraph_history,
        langgraph_newest,
        large_argument,
        list_steps,
        long_bytes,
        long_rows,
        long_text,
        look_up,
        mlflow_spans,
        open_run,
        plain_transport,
        record_model,
        record_read,
        record_short,
        replay_short,
        resent,
        run_goldens_of_20,
        sdk_spans,
        show_help,
        spans,
        starts,
        steps_dbos,
        steps_grows,
        steps_grows_models,
        steps_gzip,
        steps_langgraph,
        steps_langgraph_delta,
        steps_limit,
        steps_models,
        steps_whole,
        temporal_replay,
        temporal_replay_bare,
        vcr_first_chunk,
        vcr_http,
        watch,
        build_features,
        close_features,
        triage,
    )
}

__all__ = ["CASES", "Absent"]
