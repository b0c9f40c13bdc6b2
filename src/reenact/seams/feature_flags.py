"""Feature flags through OpenFeature: each evaluation is a crossing, answered in place of the provider.

The client's own code runs in every session, hooks and type checks included; the provider's answer is recorded (value,
variant, reason, error), and a replay gives it without asking the provider. Whether the provider was ready is a separate
ambient read: a provider that cannot connect in a replay must not turn every flag into its default.

Flags that come from elsewhere are noted by the agent: ``reenact.note("flag.NAME", value)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from types import ModuleType
from typing import Any, Final

from reenact.facts import texts
from reenact.facts.call import Call, Effect, Failure, Json, Kind, Value
from reenact.facts.values import describe_error, encode, revealed
from reenact.seams.ambient import answer
from reenact.seams.lanes import listening
from reenact.seams.patching import replace, when_imported
from reenact.seams.switchboard import across, cross, guarded

__all__ = ["fitting", "install", "static"]

RULE: Final = "flag/1"
"""Key of an evaluation: the flag, its type, the default and the context it is evaluated in."""
_DETAILS: Final = ("flag_key", "value", "variant", "flag_metadata", "reason", "error_code", "error_message")
_CODED: Final = ("reason", "error_code")
"""Details that are members of enumerations, or texts where the provider gave a text."""
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "BOOLEAN": (bool,),
    "STRING": (str,),
    "INTEGER": (int,),
    "FLOAT": (float,),
    "OBJECT": (dict, list),
}
_NOT_READY: Final = "not ready"
_FATAL: Final = "fatal"


def install() -> None:
    """Hook the client once the program has imported it."""
    when_imported("openfeature.client", _hook)


def _hook(module: ModuleType) -> None:
    client: Any = getattr(module, "OpenFeatureClient", None)
    names = ("_create_provider_evaluation", "_create_provider_evaluation_async", "_assert_provider_status")
    if client is None or not all(hasattr(client, name) for name in names):
        return
    replace(client, names[0], lambda original: _evaluating(module, original, cross))
    replace(client, names[1], lambda original: _evaluating(module, original, across))
    replace(client, names[2], lambda original: _asserting(module, original))


def fitting(kind: str, value: Json) -> Json:
    """A JSON value as a flag of a type (``BOOLEAN``, ``STRING``, ``INTEGER``, ``FLOAT``, ``OBJECT``), or None."""
    if kind == "FLOAT" and type(value) is int:
        return float(value)
    return value if type(value) in _TYPES.get(kind, (type(value),)) else None


def static(flag: str, value: Json) -> Value:
    """The outcome of an evaluation by a provider that has this one value for all users."""
    details = dict.fromkeys(_DETAILS) | {"flag_key": flag, "value": value, "flag_metadata": {}, "reason": "STATIC"}
    return Value(encode({**details, "members": ["reason"]}).body)


def _evaluating(module: Any, original: Callable[..., Any], crossing: Callable[..., Any]) -> Callable[..., Any]:
    seal, reveal = _sealing(module), _revealing(module)

    def evaluate(
        self: Any, provider: Any, flag_type: Any, flag_key: str, default_value: Any, evaluation_context: Any = None
    ) -> Any:
        lane = listening()
        asked = (flag_type, flag_key, default_value, evaluation_context)
        perform = partial(original, self, provider, *asked)
        if lane is None:
            return perform()
        return crossing(lane, lambda: _described(provider, *asked), perform, seal, reveal)

    return evaluate


def _asserting(module: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Whether the provider is ready; what the recording found, in a replay."""
    errors: Mapping[str, Any] = {_NOT_READY: module.ProviderNotReadyError, _FATAL: module.ProviderFatalError}

    def assert_status(self: Any) -> Any:
        error = original(self)
        lane = listening()
        if lane is None:
            return error
        found = next((word for word, kind in errors.items() if isinstance(error, kind)), None)
        now = texts.absent() if found is None else texts.known(found)
        seen = guarded(lane, lambda: answer(lane, "flags/status", now))
        if not seen or seen == now:
            return error
        made = errors.get(texts.text_of(seen))
        return None if made is None else made()

    return assert_status


def _described(provider: Any, flag_type: Any, flag_key: str, default: Any, context: Any) -> Call:
    asked: dict[str, Any] = {"default": default}
    if context is not None:
        asked |= {"targeting_key": context.targeting_key, "attributes": dict(context.attributes)}
    head: dict[str, Json] = {"flag": str(flag_key), "type": str(getattr(flag_type, "value", flag_type))}
    body = encode(asked, sort_sets=True).body
    return Call(Kind.FLAG, str(flag_key), Effect.READ, RULE, head, body, "application/json")


def _sealing(module: Any) -> Callable[[Any, BaseException | None], Value | Failure]:
    def seal(details: Any, error: Any) -> Value | Failure:
        if error is None:
            told = {name: getattr(details, name) for name in _DETAILS}
            told["flag_metadata"] = dict(told["flag_metadata"] or {})
            told["members"] = [name for name in _CODED if isinstance(told[name], Enum)]
            told |= {
                name: None if told[name] is None else str(getattr(told[name], "value", told[name])) for name in _CODED
            }
        elif type(error) in module.ErrorCode.__exceptions__.values():
            told = {"raised": error.error_code.value, "error_message": error.error_message}
        else:
            return Failure(describe_error(error))
        return Value(encode(told).body)

    return seal


def _revealing(module: Any) -> Callable[[Value | Failure], Any]:
    def reveal(outcome: Value | Failure) -> Any:
        told = revealed(outcome)
        if "raised" in told:
            raise module.ErrorCode.to_exception(module.ErrorCode(told["raised"]), told["error_message"])
        for name in told.pop("members"):
            told[name] = (module.Reason if name == "reason" else module.ErrorCode)(told[name])
        return module.FlagEvaluationDetails(**told)

    return reveal
