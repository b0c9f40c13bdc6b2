"""Recordings of other tools become runs: through the same gate as a recording, all of a file or nothing."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

from reenact.abc.redaction import Redactor
from reenact.abc.sources import Clock, Entropy
from reenact.abc.store import Store
from reenact.errors import RunNotFound
from reenact.facts.call import Effect, End, EndKind, Json
from reenact.facts.dialects import recognise, stateless_model_request
from reenact.facts.dialects.hosts import provider_of
from reenact.facts.ids import make_run_id
from reenact.facts.imported_runs import IMPORT, NOTE, ORDER, is_imported
from reenact.facts.known_credentials import KnownCredentials, same_values
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.policy import Policy
from reenact.facts.record import (
    CallIssued,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import Entry, Run, Status, Totals
from reenact.facts.variables import chosen
from reenact.interop.exchanges import ExchangesOfRun, ImportedExchange
from reenact.interop.trace_import import TraceImport, untold
from reenact.interop.traces import Trace
from reenact.privacy import make_redactor
from reenact.recording.idle_readings import Readings
from reenact.recording.recording_opening import Who
from reenact.seams.http.http_exchange import describe

_BY_PROVIDER: Final = {
    "azure": ("AZURE_OPENAI_API_KEY",),
    "bedrock": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "cohere": ("CO_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "google": ("GEMINI_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
_BY_PROTOCOL: Final = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}

ROOT: Final = "root"
TAG: Final = "import"
"""Label of a run that was made of exchanges: a digest of them, with a number if the file holds the same exchanges more
than once."""

TRANSPORT: Final = "import"
"""Transport of an imported request: no client family."""

_UP_US: Final = 3_600_000_000
"""The reading of the monotonic clock at the beginning of a run, as on a system that has been up for an hour."""
_SEGMENT = 64 << 10
_BATCH = 512


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an import.

    Attributes:
        file: Name of the file, without its folder.
        digest: SHA-256 of its bytes.
    """

    file: str
    digest: str

    @classmethod
    def of(cls, name: str, data: bytes) -> Origin:
        """The origin of a file with these bytes."""
        return cls(name, hashlib.sha256(data).hexdigest())


@dataclass(frozen=True, slots=True)
class Arrival:
    """A run from an import.

    Attributes:
        run: The run.
        new: Whether it was written now; a run that the store already has is not written again.
    """

    run: Run
    new: bool = True


def import_runs(
    store: Store,
    found: Iterable[ExchangesOfRun | Trace],
    origin: Origin,
    *,
    who: Who,
    policy: Policy,
    clock: Clock,
    entropy: Entropy,
    progress: Callable[[int, int], object] = untold,
) -> list[Arrival]:
    """Write each run of a file.

    Args:
        store: The store for the runs.
        found: The content of the file, read to its end.
        origin: The file.
        who: The agent, user and session of the runs, and their tags.
        policy: The rules for what may be kept, and how (ignore rules, redaction).
        clock, entropy: The sources of the runs' identities.
        progress: Called with the number of written spans and exchanges, and the number of all of them, again and
            again.

    Returns:
        The runs, in the order of the file.

    Raises:
        StoreError: A run could not be written; none is kept.
    """
    waiting = list(found)
    total = sum(_size(each) for each in waiting)
    done = 0

    def written(more: int) -> None:
        nonlocal done
        done = min(done + more, total)
        progress(done, total)

    landing = TraceImport(store, origin.file, origin.digest, who, policy, clock, entropy, written)
    arrived: list[Arrival] = []
    seen: Counter[str] = Counter()
    try:
        for left, each in zip(reversed(range(len(waiting))), waiting, strict=True):
            if isinstance(each, Trace):
                known, earlier = landing.known(each)
                arrived.append(Arrival(known, False) if known else Arrival(landing.land(each, left, earlier=earlier)))
                written(_size(each) if known else 0)
                continue
            digest = each.digest()
            seen[digest] += 1
            digest += f".{seen[digest]}" if seen[digest] > 1 else ""  # twice in the file: two runs
            there = _known(store, digest)
            if there is not None:
                arrived.append(Arrival(there, False))
                written(_size(each))
                continue
            run = _begun(each, origin, who, policy, clock, entropy)
            run = replace(run, tags={TAG: digest, **run.tags})
            arrived.append(Arrival(run))
            arrived[-1] = Arrival(_write(store, run, each, policy, written))
    except BaseException:
        for arrival in arrived:
            if arrival.new:
                with contextlib.suppress(Exception):
                    store.delete(arrival.run)
        raise
    return arrived


def _size(found: ExchangesOfRun | Trace) -> int:
    """The number of events to write."""
    return found.spans if isinstance(found, Trace) else len(found.exchanges)


def _known(store: Store, digest: str) -> Run | None:
    """The run that the same exchanges have become before."""
    try:
        return next((run for run in store.runs(tag={TAG: digest}) if is_imported(run)), None)
    except RunNotFound:  # there is no store yet
        return None


def _begun(found: ExchangesOfRun, origin: Origin, who: Who, policy: Policy, clock: Clock, entropy: Entropy) -> Run:
    """The run of some exchanges, before its first record."""
    now_us = clock.wall_us()
    surroundings = chosen(os.environ, policy.env)
    secrets = sorted({*surroundings["env_secret"], *credentials_demanded(found.exchanges)})
    seen: dict[str, Json] = {
        "format": found.source,
        "file": origin.file,
        "sha256": origin.digest,
        "exchanges": len(found.exchanges),
        "times": all(each.at_us is not None for each in found.exchanges),
        "remarks": found.remarks(),
        **({"part": found.label} if found.label else {}),
    }
    first_us = found.clock_us if found.clock_us is not None else now_us
    return Run(
        id=make_run_id(now_us, entropy.bytes(8)),
        agent=who.name,
        version=who.version,
        entry=Entry(IMPORT, target=found.source),
        user=who.user,
        tenant=who.tenant,
        session=who.session,
        tags={str(name): str(value) for name, value in (who.tags or {}).items()},
        started_us=first_us,
        origin_us=0,
        retention=policy.retention,
        capture={
            "order": ORDER,
            "ignore": {**found.ignore, **policy.ignore},
            "redact": dict(policy.redact),
            "same_values": same_values(os.environ, secrets),
            NOTE: seen,
        },
        environment={"env_secret": secrets, "clock": [first_us, _UP_US]},
    )


def _write(store: Store, run: Run, found: ExchangesOfRun, policy: Policy, written: Callable[[int], object]) -> Run:
    """Write one run from its beginning to its end."""
    secrets = run.environment["env_secret"]
    redactor = make_redactor(known=KnownCredentials(os.environ, secrets, fields=policy.redact))
    run = replace(run, capture={**run.capture, "rules": list(redactor.rules)})
    readings = Readings()
    (opened,) = redactor.clean(RunOpened(run))
    log = store.begin(opened.run if isinstance(opened, RunOpened) else run)
    try:
        began = (RunOpened(run), LaneOpened(0, ROOT, None), EvidenceNoted(None, NOTE, run.capture[NOTE]))
        events = (record for number, each in enumerate(found.exchanges) for record in records(number, each, found))
        batch: list[Record] = []
        for record in chain(began, events):
            readings.saw(record)
            batch += redactor.clean(record)
            if len(batch) >= _BATCH:
                log.write(batch)
                written(sum(isinstance(each, CallIssued) for each in batch))
                batch = []
        batch += redactor.flush()
        for record in _read(readings, redactor):
            batch.append(record)
        sums = readings.sums()
        ended = replace(
            run,
            status=Status.OK,
            ended_us=run.started_us + _duration_us(found),
            totals=Totals(len(found.exchanges), sums.models, 0, sums.tokens_in, sums.tokens_out),
        )
        batch += redactor.clean(RunClosed(ended))
        log.write(batch, durable=True)
    finally:
        log.close()
    return ended


def _read(readings: Readings, redactor: Redactor) -> Iterator[Record]:
    """The readings of the model calls."""
    while noted := readings.work():
        for record in noted:
            yield from redactor.clean(record)


def records(number: int, exchange: ImportedExchange, found: ExchangesOfRun) -> Iterator[Record]:
    """The records of one exchange, as a recording of a single strand would have noted it."""
    headers = [list(pair) for pair in exchange.asked]
    call = describe(exchange.method, exchange.url, headers, exchange.body, TRANSPORT)
    if call.effect is Effect.WRITE and stateless_model_request(exchange.method, exchange.url, exchange.body):
        call = replace(call, effect=Effect.READ)
    at_us = _since(exchange, found)
    head: Mapping[str, Json] = {
        "status": exchange.status,
        "reason": exchange.reason or None,
        "version": exchange.version or None,
        "headers": [list(pair) for pair in exchange.headers],
        "framing": "payload",
        "extensions": {},
    }
    yield CallIssued(number, 0, number, None, at_us, call)
    yield HeadArrived(number, at_us + exchange.first_us, head)
    ended_us = at_us + exchange.ended_us
    for start in range(0, len(exchange.answer), _SEGMENT):
        yield SegmentArrived(number, ended_us, exchange.answer[start : start + _SEGMENT])
    yield StreamEnded(number, ended_us, End(EndKind.EOF))
    if exchange.remarks:
        yield EvidenceNoted(number, NOTE, list(exchange.remarks))


def _since(exchange: ImportedExchange, found: ExchangesOfRun) -> int:
    if exchange.at_us is None or found.clock_us is None:
        return 0
    return max(0, exchange.at_us - found.clock_us)


def _duration_us(found: ExchangesOfRun) -> int:
    return max((_since(each, found) + each.ended_us for each in found.exchanges), default=0)


def credentials_demanded(exchanges: Iterable[ImportedExchange]) -> list[str]:
    """The names of the variables from which clients of these exchanges' models read a key: in a replay they hold
    placeholders."""
    found: set[str] = set()
    for each in exchanges:
        dialect = recognise({"method": each.method, "url": each.url, "headers": each.asked}, each.body)
        if dialect is None:
            continue
        found.update(_BY_PROVIDER.get(provider_of(urlsplit(each.url).hostname or ""), ()))
        found.update(name for protocol, name in _BY_PROTOCOL.items() if dialect.startswith(protocol))
    return sorted(found)
