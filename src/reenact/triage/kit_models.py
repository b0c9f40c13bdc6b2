"""The models in a kit: the providers, addresses, parameters, tools and vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from reenact.facts.call import Json, Kind, Stream
from reenact.facts.kit import Bucket, Item, ItemState
from reenact.triage.scene import ModelCall, Scene

_OFFERS: tuple[tuple[str, frozenset[str]], ...] = (
    ("openai.chat", frozenset(("seed", "fingerprint"))),
    ("openai.responses", frozenset()),
    ("anthropic", frozenset()),
    ("gemini", frozenset(("seed",))),
    ("google", frozenset(("seed",))),
    ("mistral", frozenset(("seed",))),
    ("ollama", frozenset(("seed",))),
    ("cohere", frozenset(("seed",))),
    ("bedrock", frozenset()),
)
"""The fields that a protocol has beside model and parameters, by the beginning of its name."""

_REGIONAL = frozenset(("azure", "bedrock", "vertex"))
"""Providers that answer in a region that their user chooses."""
_SEEDS = ("seed", "random_seed")
_FEW = 4


def models(scene: Scene) -> Iterator[Item]:
    """Models, their providers, parameters and tools."""
    calls = [each for each in scene.models if each.event.call.kind is not Kind.MODEL]
    if scene.models:
        yield _model(scene.models)
    if calls:
        yield _provider(calls)
        yield _region(scene, calls)
        yield _parameters(calls)
        yield _offered(scene, calls, "seed", lambda call: next((call.reading.params.get(n) for n in _SEEDS), None))
        yield _offered(scene, calls, "fingerprint", lambda call: call.reading.params.get("fingerprint"))
        yield from _tool_schemas(calls)
    yield from _embeddings(scene)


def _numbers(calls: list[ModelCall] | tuple[ModelCall, ...]) -> tuple[int, ...]:
    return tuple(each.event.number for each in calls)


def _model(calls: tuple[ModelCall, ...]) -> Item:
    """The model that was asked, and the model that answered."""
    pairs = dict.fromkeys((each.reading.model_asked, each.reading.model_answered) for each in calls)
    words = [
        f"{asked or 'no name'} asked, {answered} answered" if answered and answered != asked else asked or "no name"
        for asked, answered in pairs
    ]
    silent = [
        each
        for each in calls
        if isinstance(each.event.outcome, Stream) and not each.reading.model_answered and not each.reading.error
    ]
    value: list[Json] = [{"asked": asked, "answered": answered} for asked, answered in pairs]
    about = "; ".join(words[:_FEW])
    if silent:
        about += f"; {len(silent)} of {len(calls)} answers name none"
        return Item(Bucket.ENVIRONMENT, "model", ItemState.PARTIAL, about, _numbers(silent), value)
    return Item(Bucket.ENVIRONMENT, "model", ItemState.CAPTURED, about, _numbers(calls), value)


def _provider(calls: list[ModelCall]) -> Item:
    names = list(dict.fromkeys(each.reading.provider for each in calls if each.reading.provider))
    about = (", ".join(names) or "unknown") + f" ({', '.join(dict.fromkeys(each.reading.dialect for each in calls))})"
    standing = ItemState.CAPTURED if names else ItemState.MISSING
    return Item(Bucket.ENVIRONMENT, "provider", standing, about, _numbers(calls), names)


def _region(scene: Scene, calls: list[ModelCall]) -> Item:
    names = list(dict.fromkeys(each.reading.region for each in calls if each.reading.region))
    if names:
        return Item(Bucket.ENVIRONMENT, "region", ItemState.CAPTURED, ", ".join(names), _numbers(calls), names)
    said, where = scene.said("region")
    if said:
        return Item(Bucket.ENVIRONMENT, "region", ItemState.PINNED, f"{said}, from {where}", value=[said])
    regional = [each for each in calls if each.reading.provider in _REGIONAL]
    names = list(dict.fromkeys(each.reading.provider for each in calls))
    return Item(
        Bucket.ENVIRONMENT,
        "region",
        ItemState.MISSING,
        f"{', '.join(names) or 'the provider'} names none in its address",
        _numbers(regional),
        capture=("AWS_REGION, AZURE_REGION or GOOGLE_CLOUD_REGION in the environment", 'reenact.note("region", …)'),
        expected=bool(regional),
    )


def _parameters(calls: list[ModelCall]) -> Item:
    sets: dict[str, dict[str, Json]] = {}
    for each in calls:
        sent = {name: value for name, value in each.reading.params.items() if name != "fingerprint"}
        sets.setdefault(repr(sorted(sent.items(), key=lambda pair: pair[0])), sent)
    first = next(iter(sets.values()))
    about = ", ".join(f"{name}={_short(value)}" for name, value in list(first.items())[:_FEW]) or "none sent"
    if len(first) > _FEW:
        about += f" and {len(first) - _FEW} more"
    if len(sets) > 1:
        about += f"; {len(sets)} different sets"
    return Item(Bucket.ENVIRONMENT, "parameters", ItemState.CAPTURED, about, _numbers(calls), list(sets.values()))


def _short(value: Json) -> str:
    text = str(value)
    return text if len(text) <= 24 else text[:23] + "…"


def _offered(scene: Scene, calls: list[ModelCall], name: str, value_of: Callable[[ModelCall], Json]) -> Item:
    """The item of a seed or fingerprint. If the calls lack it, the item says whether their protocol has a place for
    it."""
    having = [each for each in calls if value_of(each) not in (None, "")]
    if len(having) == len(calls):
        values = list(dict.fromkeys(str(value_of(each)) for each in calls))
        about = ", ".join(values[:_FEW])
        return Item(Bucket.ENVIRONMENT, name, ItemState.CAPTURED, about, _numbers(calls), values)
    said, where = scene.said(name)
    if said:
        return Item(Bucket.ENVIRONMENT, name, ItemState.PINNED, f"{said}, from {where}", value=[said])
    lacking = [each for each in calls if each not in having]
    dialects = list(dict.fromkeys(each.reading.dialect for each in lacking))
    offers = [_offers(each) for each in dialects]
    offering = any(each is not None and name in each for each in offers)
    if not offering and None not in offers:
        about = f"{', '.join(dialects)} offers none"
    elif name == "seed":
        about = f"{len(lacking)} of {len(calls)} requests send none"
    else:
        about = f"{len(lacking)} of {len(calls)} answers name none"
    return Item(
        Bucket.ENVIRONMENT,
        name,
        ItemState.PARTIAL if having else ItemState.MISSING,
        about,
        _numbers(lacking),
        capture=("seed=7 in the request",) if name == "seed" and offering else (),
        expected=False,
    )


def _offers(dialect: str) -> frozenset[str] | None:
    """The fields that a protocol has; None for an unknown protocol."""
    return next((offered for start, offered in _OFFERS if dialect.startswith(start)), None)


def _tool_schemas(calls: list[ModelCall]) -> Iterator[Item]:
    """The tools as they were registered at each call, with their hash."""
    offered: dict[str, list[ModelCall]] = {}
    for each in calls:
        if each.reading.tools_hash:
            offered.setdefault(each.reading.tools_hash, []).append(each)
    if not offered:
        return
    value: list[Json] = []
    words = []
    for digest, group in offered.items():
        full = next((each for each in group if each.full), None)
        tools = list(full.reading.tools) if full is not None else []
        names = [str(tool.get("name") or tool.get("type")) for tool in tools if isinstance(tool, Mapping)]
        value.append({"hash": digest, "tools": tools, "events": list(_numbers(group))})
        words.append(f"{', '.join(names[:_FEW]) or '?'}{' …' if len(names) > _FEW else ''} (hash {digest[:12]})")
    about = "; ".join(words[:_FEW])
    if len(offered) > 1:
        about = f"{len(offered)} different sets: {about}"
    calls_with = tuple(number for group in offered.values() for number in _numbers(group))
    yield Item(Bucket.ENVIRONMENT, "tool_schemas", ItemState.CAPTURED, about, tuple(sorted(calls_with)), value)


def _embeddings(scene: Scene) -> Iterator[Item]:
    """Embedding model and dimensions, of retrievals and of requests for embeddings."""
    retrievals = scene.of_kind(Kind.RETRIEVAL)
    if not retrievals and not scene.embeddings:
        return
    names: dict[str, int | None] = {}
    lacking: list[int] = []
    for event in retrievals:
        name = event.call.head.get("embedding_model") or event.attributes.get("embedding_model")
        dimensions = event.attributes.get("embedding_dimensions")
        if name:
            names[str(name)] = dimensions if isinstance(dimensions, int) else names.get(str(name))
        else:
            lacking.append(event.number)
    for _, found in scene.embeddings:
        dimensions = found.get("dimensions")
        names[str(found.get("model"))] = dimensions if isinstance(dimensions, int) else None
    said, where = scene.said("embedding_model")
    if lacking and (said or names):
        names.setdefault(said or next(iter(names)), None)
        lacking = []
    numbers = tuple(event.number for event in retrievals) + tuple(event.number for event, _ in scene.embeddings)
    sizes, _ = scene.said("embedding_dimensions")
    whole = not lacking and (bool(sizes) or all(size is not None for size in names.values()))
    words = [f"{name}{f', {size} dimensions' if size else ''}" for name, size in names.items()]
    if sizes:
        words.append(f"{sizes} dimensions")
    if not names:
        standing, about = ItemState.MISSING, f"{len(lacking)} retrievals do not say which model made the vectors"
    else:
        standing = ItemState.CAPTURED if whole else ItemState.PARTIAL
        about = "; ".join(words) + ("" if whole else f"; {'a model' if lacking else 'the dimensions'} not told")
    yield Item(
        Bucket.ENVIRONMENT,
        "embedding_model",
        standing,
        about + (f", from {where}" if said and names else ""),
        tuple(lacking) or numbers,
        dict(names) or None,
        capture=()
        if whole and names
        else (
            '@reenact.retriever(embedding_model="…")',
            'reenact.note("embedding_dimensions", 1536) inside the retriever',
        ),
    )
