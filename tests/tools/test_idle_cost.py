"""What a decorated function costs while nobody listens: printed, and held to a bound no slow machine reaches."""

from __future__ import annotations

import timeit

import pytest

from reenact.seams.step_scopes import step
from reenact.seams.tools import tool


def bare(query: str, k: int = 5) -> str:
    return query


def cost(act: object) -> float:
    """Microseconds a call, the best of five."""
    return min(timeit.repeat(lambda: act("q", k=3), number=20_000, repeat=5)) / 20_000 * 1e6  # type: ignore[operator]


@pytest.mark.slow
def test_idle_cost() -> None:
    base = cost(bare)
    for name, wrapped in (("tool", tool(bare)), ("step", step("s")(bare))):
        extra = cost(wrapped) - base
        print(f"{name}: {extra:.2f} us over a plain call")
        assert extra < 20
