"""Settings: what a project and its environment may set, checked, with the origin of every value.

Each layer overrides the ones before it. They are the defaults, ``[tool.reenact]`` of ``pyproject.toml``,
``reenact.toml``, ``REENACT_*`` of the environment, and last the command line or the caller. This module is pure;
``abc.project_settings`` reads the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass, fields
from reenact.facts.policy import (
    LARGEST_VALUE_MB,
    OTEL_CONTENTS,
    OTEL_DIALECTS,
    OTEL_METRICS,
    OTEL_PROVIDERS,
    UNSAMPLED,
    Policy,
)
from reenact.facts.retention import AT

if TYPE_CHECKING:
    from reenact.facts.ignored_requests import unrecorded
    from reenact.facts.plumbing import ruled
    from reenact.facts.retention import span_us
    from reenact.facts.rule_names import chosen_rules
    from reenact.facts.sampling import shares
    from reenact.facts.tracecontext import named_hosts
else:
    ruled = late("reenact.facts.plumbing", "ruled")
    span_us = late("reenact.facts.retention", "span_us")
    chosen_rules = late("reenact.facts.rule_names", "chosen_rules")
    shares = late("reenact.facts.sampling", "shares")
    unrecorded = late("reenact.facts.ignored_requests", "unrecorded")
    named_hosts = late("reenact.facts.tracecontext", "named_hosts")

PREFIX = "REENACT_"
"""The beginning of the names of environment variables that are settings."""

_ENVIRONMENT = "environment"

ORDERS = ("exact", "arrival", "off")

SWITCHES: Mapping[str, str] = {
    "REENACT_DISABLE": "1: record nothing, run programs as if reenact were not there",
    "REENACT_DEBUG": "1: show tracebacks of errors",
}
"""Environment variables with our prefix that are no settings. They have no key in a file."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        name: Key in a file, ``server.ignore`` for one of the table ``server``; in the environment ``REENACT_`` and the
            name in capitals.
        default: The value if it is not set.
        about: The effect of the setting, in a line.
        read: Checks a value of a file or of the environment and gives it its type.
    """

    name: str
    default: Json
    about: str
    read: Callable[[Json], Json]

    @property
    def plain(self) -> str:
        """The name without dots, as a field of ``Policy`` or a variable has it."""
        return self.name.replace(".", "_")


@dataclass(frozen=True, slots=True)
class SettingValue:
    """The value of a setting, and where it came from."""

    value: Json
    origin: str


@dataclass(frozen=True, slots=True)
class Layer:
    """Values of one origin: a file, or the environment."""

    origin: str
    values: Mapping[str, Json]


Settings = Mapping[str, SettingValue]
"""Every setting by its name."""


def resolve(layers: Iterable[Layer]) -> Settings:
    """Lay layers over the defaults, the last one on top.

    Raises:
        UsageError: A key is unknown (the message names the nearest one), or a value has the wrong type.
    """
    chosen = {setting.name: SettingValue(setting.default, "default") for setting in SETTINGS}
    for layer in layers:
        for key, value in _level(layer):
            setting = _NAMED.get(key)
            if setting is None:
                raise _unknown(key, layer.origin)
            try:
                chosen[key] = SettingValue(setting.read(value), layer.origin)
            except ValueError as error:
                raise UsageError(
                    f"{layer.origin}: {key} = {value!r} {error}",
                    cause=setting.about,
                    next_command=f"export {PREFIX}{setting.plain.upper()}="
                    if layer.origin == _ENVIRONMENT
                    else "reenact config --help",
                ) from None
    return chosen


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """The settings in the environment. Other variables are ignored; ``strangers`` finds misspelled ones."""
    known = {PREFIX + setting.plain.upper(): setting.name for setting in SETTINGS}
    return Layer(_ENVIRONMENT, {known[name]: text for name, text in environ.items() if name in known and text != ""})


def strangers(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Variables with our prefix that set nothing, each with the nearest name of a setting, to be shown to a person."""
    known = [PREFIX + setting.plain.upper() for setting in SETTINGS] + list(SWITCHES)
    found = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    from difflib import get_close_matches  # imported late, because only a mistake needs it

    return [(name, next(iter(get_close_matches(name, known, 1)), "")) for name in found]


def policy_of(settings: Settings, **over: object) -> Policy:
    """The policy of the settings. Values given by name override them, except None."""
    names = {each.name for each in fields(Policy)}
    values = {setting.plain: settings[setting.name].value for setting in SETTINGS if setting.plain in names}
    values.update({name: value for name, value in over.items() if value is not None})
    return Policy(**values)


def _level(layer: Layer) -> Iterator[tuple[str, Json]]:
    """The values of a layer by the whole names of their settings. Each value in a table gets the table's name before
    its own."""
    for key, value in layer.values.items():
        if key not in _TABLES:
            yield key, value
        elif isinstance(value, Mapping):
            yield from ((f"{key}.{name}", each) for name, each in value.items())
        else:
            raise UsageError(
                f"{layer.origin}: {key} = {value!r} is not a table",
                cause=f"settings stand in it: {', '.join(name for name in _NAMED if name.startswith(key + '.'))}",
                next_command="reenact config --help",
            )


def _unknown(key: str, origin: str) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(key, list(_NAMED), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return UsageError(
        f"{origin}: unknown setting {key}",
        cause=f"{hint}the settings are {', '.join(_NAMED)}",
        next_command="reenact config --help",
    )


def _text(value: Json) -> Json:
    if not isinstance(value, str):
        raise ValueError("is not text")
    return value


def _unsampled(value: Json) -> Json:
    if value not in UNSAMPLED:
        raise ValueError(f"is none of {', '.join(UNSAMPLED)}")
    return value


def _of(words: tuple[str, ...]) -> Callable[[Json], Json]:
    def read(value: Json) -> Json:
        if value not in words:
            raise ValueError(f"is none of {', '.join(word or 'empty' for word in words)}")
        return value

    return read


def _order(value: Json) -> Json:
    if value not in ORDERS:
        raise ValueError(f"is none of {', '.join(ORDERS)}")
    return value


def _switch(value: Json) -> Json:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    found = words.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise ValueError("is neither true nor false")
    return found


def _number(low: float, high: float) -> Callable[[Json], Json]:
    def read(value: Json) -> Json:
        try:
            number = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or not low <= number <= high:
            raise ValueError(f"is not a number from {low:g} to {high:g}")
        return number

    return read


def _words(value: Json) -> Json:
    parts = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise ValueError("is not a list of texts")
    return tuple(parts)


def _table(value: Json) -> Json:
    if isinstance(value, str):
        halves = [part.partition("=") for part in value.split(",") if part.strip()]
        if not all(equals and key.strip() for key, equals, _ in halves):
            raise ValueError("is not written name=value,name=value")
        return {key.strip(): text.strip() for key, _, text in halves}
    if not isinstance(value, Mapping) or not all(isinstance(part, str) for part in value.values()):
        raise ValueError("is not a table of texts")
    return dict(value)


def _terms(value: Json) -> Json:
    """How long classes of runs are kept. A table inside the table is for one agent: ``{refunds = {ok = "30d"}}``."""
    if not isinstance(value, Mapping):
        value = _table(value)
        assert isinstance(value, Mapping)
    flat: dict[str, Json] = {}
    for name, term in value.items():
        if isinstance(term, Mapping):
            flat.update({f"{each}{AT}{name}": own for each, own in term.items()})
        else:
            flat[name] = term
    for name, term in flat.items():
        if not isinstance(term, str):
            raise ValueError("is not a table of texts")
        try:
            span_us(term)
        except ValueError as error:
            raise ValueError(f"is wrong: {name} = {term!r} {error}") from None
    return flat


def _shares(value: Json) -> Json:
    table = _table(value) if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise ValueError("is not a table of shares")
    return shares(table)


def _rules(value: Json) -> Json:
    table = _table(value)
    ruled(table)
    return table


def _suspicions(value: Json) -> Json:
    table = _table(value) if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise ValueError("is not a table of rules")
    return chosen_rules(table)


def _requests(value: Json) -> Json:
    patterns = _words(value)
    unrecorded(patterns)
    return patterns


def _hosts(value: Json) -> Json:
    patterns = _words(value)
    named_hosts(patterns)
    return patterns


SETTINGS: tuple[Setting, ...] = (
    Setting("store", None, "where runs are kept: a directory, sqlite:///PATH, memory:; .reenact/ if unset", _text),
    Setting("agent", None, "name of the agent, NAME or NAME@VERSION, where a recording names none", _text),
    Setting("user", None, "user id of runs that name none", _text),
    Setting("tenant", None, "tenant id of runs that name none", _text),
    Setting("session", None, "session id of runs that name none", _text),
    Setting("order", "exact", "how the order of events is kept: exact, arrival or off", _order),
    Setting("hold_ms", 20.0, "longest time a delivery is held while recording, milliseconds", _number(0, 10_000)),
    Setting("files", (), "patterns of files that a run declares as its results", _words),
    Setting("file_contents", (), "patterns of files whose content is kept when a run reads them", _words),
    Setting("env", (), "environment variables whose values may be stored", _words),
    Setting("require", (), "run fields that must be known (user_id …); a missing one is a capture gap", _words),
    Setting("sample", 1.0, "share of the runs that end well to keep, 0 to 1; all others are kept", _number(0, 1)),
    Setting(
        "sampling", {}, "the same by agent (refunds), route (POST /ask) or both (refunds@/ask): to a share", _shares
    ),
    Setting("unsampled", "nothing", "what is kept of the others: nothing, or their events without bodies", _unsampled),
    Setting("retention", "", "class for retention: one of `keep`, a span (90d) or always", _text),
    Setting(
        "keep",
        {},
        "how long runs of a class are kept (ok 7d, failed 30d, flagged 90d, test 1d), or class@agent; always: for good",
        _terms,
    ),
    Setting(
        "day_mb",
        0.0,
        "space for the runs of a day, MB; above it, runs that ended well are thinned, oldest first; 0: no limit",
        _number(0, 1_000_000_000),
    ),
    Setting("gc", True, "remove expired runs in the background, when a command has done its work", _switch),
    Setting("redact", {}, "extra redaction: field name to rule name", _table),
    Setting("ignore", {}, "ignore rules for matching: name to path (body.metadata.trace_id)", _table),
    Setting(
        "plumbing", {}, "telemetry that never makes a replay differ: name to off, or to a rule of your own", _rules
    ),
    Setting(
        "suspicions",
        {},
        "rules of suspicion: name to off, or a rule of your own to MODULE:FUNCTION of this project",
        _suspicions,
    ),
    Setting(
        "server.ignore",
        (),
        "requests that a recorded server answers without a run (/health, GET /ping, /static/*)",
        _requests,
    ),
    Setting(
        "otel.endpoint",
        "",
        "where the spans of runs are sent as they happen, and by `export otel`: http://localhost:4318 (OTLP over HTTP)",
        _text,
    ),
    Setting(
        "otel.provider",
        "",
        "program: spans go through the TracerProvider that the program has set up, in place of an endpoint",
        _of(OTEL_PROVIDERS),
    ),
    Setting(
        "otel.content",
        "reference",
        "content in spans: reference (where it is found), or inline (messages, arguments and results)",
        _of(OTEL_CONTENTS),
    ),
    Setting(
        "otel.dialect",
        "otel",
        "names of attributes in spans: otel, otel-before (1.28 to 1.36) or openinference",
        _of(OTEL_DIALECTS),
    ),
    Setting(
        "otel.metrics",
        "released",
        "names of metrics: released (gen_ai.client.token.usage), next (gen_ai.client.inference.usage.…), off: none",
        _of(OTEL_METRICS),
    ),
    Setting(
        "otel.propagate",
        (),
        "hosts whose requests get the header traceparent: api.example.com, localhost:8080, *.example.com",
        _hosts,
    ),
    Setting(
        "models_may_store",
        False,
        "let forks make model requests that their provider stores (OpenAI's responses do unless told otherwise)",
        _switch,
    ),
    Setting(
        "largest_value_mb",
        LARGEST_VALUE_MB,
        "largest value of a call that is kept, MB; of a larger one only size and digest are kept",
        _number(0, 1_000_000),
    ),
    Setting(
        "largest_run_mb",
        0.0,
        "space for the results of a run's calls, MB; of further values only size and digest are kept; 0: no limit",
        _number(0, 1_000_000),
    ),
    Setting("check_changes", True, "look for arguments that a tool changed", _switch),
)
"""Every setting, in the order ``reenact config`` shows them."""

_NAMED = {setting.name: setting for setting in SETTINGS}
_TABLES = frozenset(table for table, dot, _ in (name.partition(".") for name in _NAMED) if dot)
