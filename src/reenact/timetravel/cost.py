"""The cost of model calls: the tokens that providers counted, at the prices in ``genai-prices``.

The library is an extra (``pip install "reenact[cost]"``). Its prices are those of the installed version: nothing is
fetched, its updates are never started, and a snapshot that the program set is not used. A cost stays unknown for an
unknown model or provider, a call without a count of tokens, an answer that was broken off, or a special tier. One
unknown call makes the cost of its run unknown. Hosted tools that a provider bills by use are not included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reenact.abc.store import Recording
from reenact.facts.call import Json, Kind, Stream
from reenact.facts.event import Event, sent_call
from reenact.facts.late import late
from reenact.timetravel.model_readings import reading_of

if TYPE_CHECKING:
    from reenact.facts.dialects import read, recognise
else:
    read = late("reenact.facts.dialects", "read")
    recognise = late("reenact.facts.dialects", "recognise")

PROVIDERS: Mapping[str, str] = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "aws",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "google": "google",
    "groq": "groq",
    "mistral": "mistral",
    "moonshot": "moonshotai",
    "openai": "openai",
    "openrouter": "openrouter",
    "perplexity": "perplexity",
    "together": "together",
    "vertex": "google",
    "xai": "x-ai",
}
"""The names of providers in the price list, by those in readings; others have no price."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_USUAL_TIERS = (None, "", "auto", "default", "standard", "standard_only", "on_demand")
_REFUSED = 400
_MANY = 1_000_000
_KNOWN = 1024
"""The most models whose price is remembered."""

PriceOf = Callable[[str, str, Mapping[str, int], datetime], Decimal | None]
"""The price in US dollars of some tokens, by provider and model of the price list; None where it has none."""


def prices() -> PriceOf | None:
    """The bundled price list; None where the extra is not installed. Loading it takes half a second, once."""
    try:
        return _prices()
    except ImportError:
        return None


def run_cost(
    recording: Recording,
    priced: PriceOf | None,
    more: Sequence[Event] = (),
    around: Mapping[int, Collection[int]] = MappingProxyType({}),
) -> Decimal | None:
    """The cost of a run's model calls, in US dollars.

    Args:
        recording: The run. A program's own note ``cost`` wins over the computed cost.
        priced: A price list; None for no prices.
        more: The inner calls of calls that the run answered as a whole; they are taken from another run.
        around: For each of these inner calls, the numbers of the run's calls around it.

    Returns:
        The sum; None where it is unknown, or without a model call. Costs one pass over the run's exchanges.
    """
    noted = recording.notes(None).get("cost")
    if isinstance(noted, int | float) and not isinstance(noted, bool):
        return Decimal(str(noted))
    if priced is None or not (recording.run.totals.models or more):
        return None
    total: Decimal | None = None
    within: set[int] = set()
    functions: list[int] = []
    for event in recording.events(kinds=(Kind.HTTP, Kind.MODEL)):
        reading = reading_made(recording, event)
        if reading is None:
            functions += [event.number] if event.kind == Kind.MODEL else []
            continue
        price = reading_cost(reading, recording.run.started_us + event.issued_us, priced)
        if price is None:
            return None
        total = price + (total or Decimal(0))
        within.update(calls_around(recording, event))
    for event in more:
        reading = reading_of(event)
        if reading is not None:
            price = reading_cost(reading, recording.run.started_us + event.issued_us, priced)
            if price is None:
                return None
            total = price + (total or Decimal(0))
            within.update(around[event.number])
    return total if all(number in within for number in functions) else None


def event_cost(recording: Recording, event: Event, priced: PriceOf | None) -> Decimal | None:
    """The cost of one model call, in US dollars; None where it is unknown, and for other events."""
    noted = event.attributes.get("cost")
    if isinstance(noted, int | float) and not isinstance(noted, bool):
        return Decimal(str(noted))
    reading = None if priced is None else reading_made(recording, event)
    if priced is None or reading is None:
        return None
    return reading_cost(reading, recording.run.started_us + event.issued_us, priced)


def reading_cost(reading: Mapping[str, Json], at_us: int, priced: PriceOf) -> Decimal | None:
    """The cost of a model call, in US dollars.

    Args:
        reading: The reading of the call.
        at_us: The time of the call, microseconds since the epoch: prices change.
        priced: The price list.

    Returns:
        The price; 0 for a call that was refused with an HTTP error; None where it is unknown.
    """
    status = (reading.get("error") or {}).get("status")
    if isinstance(status, int) and status >= _REFUSED:
        return Decimal(0)
    counts = _counts(reading)
    provider = PROVIDERS.get(str(reading.get("provider", "")))
    tier = (reading.get("params") or {}).get("service_tier")
    if counts is None or provider is None or reading.get("partial") or tier not in _USUAL_TIERS:
        return None
    moment = _EPOCH + timedelta(microseconds=at_us)
    for model in dict.fromkeys((reading.get("model_answered"), reading.get("model_asked"))):
        found = priced(provider, str(model), counts, moment) if model else None
        if found is not None:
            return found
    return None


def _counts(reading: Mapping[str, Json]) -> dict[str, int] | None:
    """Tokens in the words of the price list; None where they were not counted in both directions."""
    usage = reading.get("usage") or {}
    asked, said = usage.get("billed_in", usage.get("tokens_in")), usage.get("billed_out", usage.get("tokens_out"))
    if reading.get("sort") == "embedding":
        said = said or 0
    if not isinstance(asked, int) or not isinstance(said, int):
        return None
    counts = {"input_tokens": asked, "output_tokens": said}
    for name, theirs in (("cached", "cache_read_tokens"), ("cache_written", "cache_write_tokens")):
        if usage.get(name):
            counts[theirs] = usage[name]
    return counts


def reading_made(recording: Recording, event: Event) -> Mapping[str, Json] | None:
    """The reading of an event: the stored one, or else a new one where the exchange is a model call."""
    found = reading_of(event)
    if found is not None or event.kind != Kind.HTTP or event.call.head.get("method") != "POST":
        return found
    body = recording.body(event.request)
    outcome = event.outcome
    if recognise(event.call.head, body) is None:
        return None
    if not isinstance(outcome, Stream):
        return {"partial": True}
    call = sent_call(event, body)
    made = read(call.head, call.body, outcome.head, (data for _, _, data in recording.parts(event.number)))
    return None if made is None else made.to_json(brief=True)


def calls_around(recording: Recording, event: Event) -> set[int]:
    """Numbers of the events that an event happened inside."""
    found: set[int] = set()
    parent = event.parent
    while parent is not None and parent not in found:
        found.add(parent)
        parent = recording.event(parent).parent
    return found


@cache
def _prices() -> PriceOf:
    snapshot = import_module("genai_prices.data_snapshot").DataSnapshot(
        providers=import_module("genai_prices.data").providers, from_auto_update=False
    )
    usage: Any = import_module("genai_prices").Usage

    known: dict[tuple[str, str, tuple[str, ...]], Callable[[Mapping[str, int]], Decimal] | None] = {}

    def calc(provider: str, model: str, counts: Mapping[str, int], at: datetime) -> Any:
        return snapshot.calc(usage(**counts), model, provider, None, at)

    def priced(provider: str, model: str, counts: Mapping[str, int], at: datetime) -> Decimal | None:
        key = (provider, model, tuple(counts))
        straight = known.get(key)
        if straight is not None:
            return straight(counts)
        try:
            found = calc(provider, model, counts, at)
            if key not in known:
                known[key] = _straight(calc, found, key, at) if len(known) < _KNOWN else None
        except (LookupError, ValueError):
            return None
        price = found.total_price
        return price if isinstance(price, Decimal) else None

    return priced


def _straight(
    calc: Callable[..., Any], found: Any, key: tuple[str, str, tuple[str, ...]], at: datetime
) -> Callable[[Mapping[str, int]], Decimal] | None:
    """The price of a model's tokens, if it has no tiers and does not change with time. It is looked up once, and not
    for each call. None for other prices."""
    provider, model, names = key
    prices = getattr(found.model, "prices", None)
    variants = [each for each in getattr(found.model, "price_variants", None) or () if not getattr(each, "when", None)]
    rates = [value for value in vars(found.model_price).values() if value is not None]
    if prices is None or isinstance(prices, list | tuple) or variants or not all(map(_is_rate, rates)):
        return None

    def price(**counts: int) -> Decimal:
        total = calc(provider, model, dict.fromkeys(names, 0) | counts, at).total_price
        assert isinstance(total, Decimal)
        return total

    nothing, asked = price(), price(input_tokens=_MANY)
    each: dict[str, Decimal] = {}
    for name in names:
        part = name in ("cache_read_tokens", "cache_write_tokens")  # these tokens are part of the request's tokens
        whole = price(input_tokens=_MANY, **{name: _MANY}) - asked if part else price(**{name: _MANY}) - nothing
        each[name] = whole / _MANY
    return lambda counts: nothing + sum((each[name] * count for name, count in counts.items()), Decimal(0))


def _is_rate(value: object) -> bool:
    return isinstance(value, Decimal)
