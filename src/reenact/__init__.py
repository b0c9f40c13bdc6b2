"""Record one run of any Python agent byte for byte, and replay it offline and exactly.

These names are the whole public interface. Each is loaded at its first use, so that ``import reenact`` loads one module
of ours and none of the dependencies. Other interfaces: ``reenact.abc`` to implement a contract, ``reenact.errors`` for
all exceptions, ``reenact.testing`` for tests.

PYTEST_DONT_REWRITE (pytest would instrument the assertions of every package that has a plugin).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reenact.abc.store import Store
    from reenact.errors import Divergence, ReenactError
    from reenact.facts.call import Effect
    from reenact.facts.checkpoint import Checkpoint
    from reenact.facts.event import Event
    from reenact.facts.policy import Policy
    from reenact.facts.run import Run
    from reenact.recording.record_api import current_run, record
    from reenact.seams.models import model, retriever
    from reenact.seams.step_scopes import note, step
    from reenact.seams.tools import tool
    from reenact.store import open_store
    from reenact.timetravel.forking import Change, fork, resume
    from reenact.timetravel.replays import replay
    from reenact.timetravel.run_comparison import Comparison, compare

__all__ = [
    "Change",
    "Checkpoint",
    "Comparison",
    "Divergence",
    "Effect",
    "Event",
    "Policy",
    "ReenactError",
    "Run",
    "Store",
    "compare",
    "current_run",
    "fork",
    "model",
    "note",
    "open_store",
    "record",
    "replay",
    "resume",
    "retriever",
    "step",
    "tool",
]

_HOMES = {
    "Change": "timetravel.forking",
    "Checkpoint": "facts.checkpoint",
    "Comparison": "timetravel.run_comparison",
    "Divergence": "errors",
    "Effect": "facts.call",
    "Event": "facts.event",
    "Policy": "facts.policy",
    "ReenactError": "errors",
    "Run": "facts.run",
    "Store": "abc.store",
    "compare": "timetravel.run_comparison",
    "current_run": "recording.record_api",
    "fork": "timetravel.forking",
    "model": "seams.models",
    "note": "seams.step_scopes",
    "open_store": "store",
    "record": "recording.record_api",
    "replay": "timetravel.replays",
    "resume": "timetravel.forking",
    "retriever": "seams.models",
    "step": "seams.step_scopes",
    "tool": "seams.tools",
}
"""The module of each public name; ``tests/project/test_surface.py`` compares this with the names that type checkers
see."""


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    bind_late()
    globals()[name] = value
    return value


def bind_late() -> None:
    """Give lower floors access to functions of higher ones, which are loaded at their first use."""
    provide = import_module(f"{__name__}.facts.late_binding").provide
    provide("timeline", _timeline)
    provide("spans", _spans)


def _timeline(run: Run, store: Any) -> Any:
    """The implementation of ``Run.timeline``, loaded at its first use."""
    return import_module(f"{__name__}.timetravel.timeline").open_timeline(run, store)


def _spans(run: Run, policy: Policy) -> Any:
    """The tap that makes the spans of a run while it is recorded."""
    return import_module(f"{__name__}.interop.otlp.span_tap").open_tap(run, policy)


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
