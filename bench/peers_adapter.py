"""Ours as one more adapter of a peers' runner: ``run.py --extra bench.peers_adapter``.

Imported by that runner only; ``suite`` is its package.
"""

from __future__ import annotations

import os
from typing import Any

from suite.http_replay import HttpAdapter  # type: ignore[import-not-found]

from bench.cases import CASES, Absent

from suite.common import register  # type: ignore[import-not-found]  # isort: skip


@register
class ReenactHttpx(HttpAdapter):  # type: ignore[misc]
    """Recording and frozen replay of the runner's own endpoint under httpx."""

    name, client, kind = "reenact_httpx", "httpx", "ours"
    note = "record() in process; replay in a fresh interpreter, timed inside it"

    def measure(self, params: dict[str, Any]) -> dict[str, float]:
        """The runner's metrics for one size."""
        os.environ["REENACT_BENCH_URL"] = os.environ["PEERBENCH_HTTP"]
        recorded = CASES["record_model"](params["n"])
        opened = CASES["open_run"](params["n"])
        out = {
            "live_us": recorded["live_us"],
            "record_us": recorded["live_us"] + recorded["added_us"],
            "record_overhead_us": recorded["added_us"],
            "save_ms": recorded["save_ms"],
            "bytes_per_call": recorded["bytes"],
            "load_ms": opened["ms"],
        }
        try:
            out.update(CASES["frozen_http"](params["n"]))
        except Absent as why:
            raise RuntimeError(str(why)) from why
        return out
