"""One decorated function as a seam: how a call of it is described, sealed and revealed.

The seam of tools, models and retrievers, which differ only in kind, effect and the facts about their answers.
"""

from __future__ import annotations

import inspect
import json
import shlex
import sys
import types
import typing
from collections.abc import Awaitable, Callable, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Any, cast, get_args

from reenact.errors import ReplayError, UnreplayableRun, UsageError
from reenact.facts import shapes
from reenact.facts.call import DEFAULTS, STATE, TOLD, Call, Effect, Failure, Json, Kind, Value
from reenact.facts.credential_search import normalise
from reenact.facts.interruptions import let_through
from reenact.facts.large_values import Large, in_pieces
from reenact.facts.scalars import WRITE
from reenact.facts.values import (
    EncodedValue,
    decode,
    describe_error,
    encode,
    encode_flat,
    encode_in_pieces,
    restore_error,
)
from reenact.seams.function_variables import FunctionVariables
from reenact.seams.lanes import Lane
from reenact.seams.mutation import Mutation, Sight, compare
from reenact.seams.parameters import RECEIVERS, Marks, Parameters, require_parameters
from reenact.seams.reapplying import reapply

MEDIA = "application/json"

_UNCHANGING = frozenset((str, int, float, bool, bytes, type(None), *WRITE)) - {bytearray}
_NO_IDENTITY = _UNCHANGING | {tuple, frozenset}


_UNMARKED = Marks()


class Seam:
    """A decorated function.

    Args:
        function: The function itself, without ``staticmethod`` around it.
        kind: The kind of its calls.
        effect: The effect of a call on the world.
        name: The name of its calls; the function's own name where empty.
        rule: Rule that turns a call into a key.
        marks: Marks of its parameters.
        view: A function that gives data to show beside a value, as JSON-able data.
        facts: Evidence for each call.

    Raises:
        UsageError: ``function`` cannot be decorated, a mark names no parameter, or a key belongs to a generator.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        kind: Kind,
        effect: Effect,
        rule: str,
        name: str | None = None,
        marks: Marks = _UNMARKED,
        view: Callable[[Any], Mapping[str, Json]] | None = None,
        facts: Mapping[str, Json] | None = None,
    ) -> None:
        if not callable(function) or isinstance(function, type):
            raise UsageError(
                f"{kind.value} takes a function, not {type(function).__name__}",
                cause="it stands on the line above def, below a framework's own decorator",
                next_command="python -m pydoc reenact",
            )
        self.function = function
        self.kind = kind
        self.effect = effect
        self.observed = effect is Effect.NONE
        self.rule = rule
        self.name = name or getattr(function, "__name__", "") or type(function).__name__
        self.key = key = marks.key
        self.state = marks.state
        self.view = view
        self.facts = {**(facts or {}), **({STATE: list(marks.state)} if marks.state else {})}
        self.head: Mapping[str, Json] = {"tool": self.name, "effect": effect.value, **self.facts}
        self.parameters = Parameters(function, marks.state)
        self.bind = marks.bind or self.parameters.bind
        self._hints: dict[str, Any] | None = None
        self._undeclared: dict[tuple[str, ...], tuple[str, ...]] = {}
        # A function inside a function may name types that exist only in the frame that is decorating it now.
        local = "<locals>" in getattr(function, "__qualname__", "")
        self._near_hints = hints_of(function, _decorating_frame(function)) if local else {}
        self._surroundings: FunctionVariables | None = None
        require_parameters(function, self.name, marks)
        if key is not None and (inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)):
            raise UsageError(
                f"{self.name} has a key and gives its results one by one",
                cause="a second call with the same key returns the first result, and a generator has no single result",
                next_command="python -m pydoc reenact.tool",
            )

    @property
    def surroundings(self) -> FunctionVariables:
        """Closure and globals."""
        if self._surroundings is None:
            self._surroundings = FunctionVariables(self.function)
        return self._surroundings

    @property
    def hints(self) -> dict[str, Any]:
        """Declared types by parameter, and of the ``return``; what cannot be resolved is absent."""
        if self._hints is None:  # evaluated at the first call: types may be declared below the function
            self._hints = {**self._near_hints, **hints_of(self.function)}
        return self._hints

    @property
    def given(self) -> Any:
        """The declared type of the function's result, or of a generator's items; None where none is declared."""
        declared = self.hints.get("return")
        if inspect.isgeneratorfunction(self.function) or inspect.isasyncgenfunction(self.function):
            return next(iter(get_args(declared)), None)
        return declared

    def undeclared(self, result: EncodedValue) -> tuple[str, ...]:
        """Names of the types in a result that a replay cannot make again: what the function declares does not reach
        them. Tried once for results of the same types."""
        found = self._undeclared.get(result.shapes)
        declared = self.given
        if found is None and declared is None:
            found = result.shapes
        if found is None:
            try:
                decode(result.body, declared)
                found = ()
            except UnreplayableRun as error:
                found = tuple(name for name in result.shapes if (name,) == error.missing)
            except Exception as error:
                let_through(error)
                found = ()
        self._undeclared[result.shapes] = found
        return found


def _decorating_frame(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Local variables of the nearest frame of the function's own module."""
    space = getattr(function, "__globals__", None)
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals is not space:
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_locals if frame is not None else {}


def hints_of(function: Callable[..., Any], near: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The declared types of a function, without types that do not exist at run time.

    Args:
        function: The function.
        near: Further names that its annotations may use.
    """
    target: Any = function if hasattr(function, "__annotations__") else type(function).__call__
    try:
        return typing.get_type_hints(target, localns=near and dict(near))
    except Exception as error:
        let_through(error)
    found: dict[str, Any] = {}
    try:
        annotations: dict[str, Any] = dict(target.__annotations__)
    except Exception as error:  # annotations that are computed late, and fail
        let_through(error)
        return found
    for name, hint in annotations.items():
        try:
            one = types.SimpleNamespace(__annotations__={name: hint})
            space = getattr(target, "__globals__", {})
            found.update(typing.get_type_hints(one, globalns=space, localns=near and dict(near)))
        except Exception as error:
            let_through(error)
            continue
    return found


class SeamCall:
    """One call of a decorated function, from its arguments to its outcome.

    Args:
        seam: The function.
        lane: The calling lane.
        args, kwargs: The arguments.
    """

    __slots__ = ("_args", "_before", "_bound", "_kwargs", "_lane", "_seam", "_states")

    def __init__(self, seam: Seam, lane: Lane, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._seam = seam
        self._lane = lane
        self._args = args
        self._kwargs = kwargs
        self._bound: dict[str, Any] = {}
        self._before: Sight | None = None
        self._states: dict[str, str | None] = {}

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._seam.name

    @property
    def observed(self) -> bool:
        """Whether the body of the function always runs."""
        return self._seam.observed

    @property
    def declared(self) -> Any:
        """The declared type of the function's result, or of a generator's items; None where none is declared."""
        return self._seam.given

    def describe(self) -> Call:
        """The call as a fact."""
        seam = self._seam
        bound = self._bound = seam.bind(self._args, self._kwargs)
        asked = bound
        if seam.parameters.receives and bound and next(iter(bound)) in RECEIVERS:
            asked = dict(islice(bound.items(), 1, None))
        if seam.state:
            asked = {name: value for name, value in asked.items() if name not in seam.state}
        head, leads = seam.head, seam.parameters.leads
        body = encode_flat(leads, asked.values()) if leads and len(asked) == len(leads) else None
        if body is None:
            body, opaque_types, _ = encode(asked, sort_sets=True)
            if opaque_types:
                body, opaque = _encoded_singly(asked)
                head = {**head, "opaque": opaque}
        if seam.key is not None:
            head = {**head, "key": self._effect_key(bound)}
        if getattr(self._lane.session, "names_defaults", False):
            head = {
                **head,
                DEFAULTS: [each.name for each in seam.parameters.all if bound.get(each.name) is each.default],
            }
        if not seam.observed and getattr(self._lane.session, "checks_changes", True):
            self._before = self._look(None)
        ordinal = bound.get("tool_call_id")
        return Call(
            seam.kind, seam.name, seam.effect, seam.rule, head, body, MEDIA, "",
            ordinal if type(ordinal) is str else None, None, seam.observed,
        )  # fmt: skip

    def _effect_key(self, bound: dict[str, Any]) -> str:
        key = self._seam.key
        value = key(*self._args, **self._kwargs) if callable(key) else bound.get(str(key))
        return value if type(value) is str else encode(value, sort_sets=True).body.decode()

    def _look(self, before: Sight | None) -> Sight | None:
        """Look at the data that the call may change; None when nothing of it can change."""
        roots: list[tuple[str, Any]] = []
        for name, value in self._bound.items():
            if name in self._seam.state:
                continue
            kind = type(value)  # no metaclass of the agent is asked for its hash
            if not (type(kind) is type or shapes.has_plain_metaclass(kind)) or kind not in _UNCHANGING:
                roots.append(("args." + name, value))
        surroundings = self._seam.surroundings
        if not surroundings.empty:
            roots += surroundings.variables()
        return Sight(before).take(roots) if roots or before is not None else None

    def perform(self) -> Any:
        """Call the function (its coroutine, if it is one)."""
        self._states = self._digests()
        return self._seam.function(*self._args, **self._kwargs)

    async def perform_async(self) -> Any:
        """Call the function and await it."""
        self._states = self._digests()
        made: Awaitable[Any] = self._seam.function(*self._args, **self._kwargs)
        return await made

    def _digests(self) -> dict[str, str | None]:
        """The digests of the function's own state; None for values that cannot be stored."""
        if not self._seam.state or not getattr(self._lane.session, "checks_changes", True):
            return {}
        return {name: _digest(self._bound[name]) for name in self._seam.state if name in self._bound}

    def changes(self) -> Mutation:
        """The changes that the call has made so far."""
        if self._before is None:
            return Mutation()
        after = self._look(self._before)
        return compare(self._before, after) if after is not None else Mutation()

    def seal(self, result: Any, error: BaseException | None) -> Value | Failure:
        """The result or error, as a fact."""
        changes = self.changes()
        head = _evidence(changes)
        if self._states:
            head[STATE] = {name: [self._states.get(name), after] for name, after in self._digests().items()}
        if error is not None:
            return Failure(describe_error(error), changes.body, head)
        given = self._given(result)
        encoded = self._in_pieces(result)
        if encoded is None:
            encoded = encode(result, sort_sets=self.observed)  # of a body that always runs, the result is compared only
        if given is not None:
            head["same"] = given
        else:
            head.update(self.lacks(encoded))
        if self._seam.view is not None:
            head.update(self._seam.view(result))
        return Value(encoded.body, MEDIA, changes.body, head)

    def _in_pieces(self, result: Any) -> EncodedValue | None:
        """A long value of plain data; None for any other."""
        takes_pieces = getattr(self._lane.session, "writes_in_pieces", False)
        large = in_pieces(result) if takes_pieces else None
        if large is not None:
            return EncodedValue(large)
        pieces = encode_in_pieces(result)
        if pieces is None:
            return None
        return EncodedValue(cast(bytes, Large(pieces)) if takes_pieces else b"".join(pieces))

    def lacks(self, result: EncodedValue) -> dict[str, Json]:
        """The parts of a result, or of a generator's item, that a replay cannot make again."""
        found: dict[str, Json] = {}
        if result.opaque:
            found["opaque"] = list(result.opaque)
        if result.shapes and not self.observed and (undeclared := self._seam.undeclared(result)):
            found["undeclared"] = list(undeclared)
        return found

    def sticks(self, problem: ReplayError) -> None:
        """The recorded answer cannot be given: the replay ends with that error, even if the agent catches it."""
        named = problem.next_command.replace("--through TOOL", f"--through {shlex.quote(self.name)}")
        problem.next_command = named
        self._lane.session.fault(problem)

    def _given(self, result: Any) -> str | None:
        """The name of the argument that was returned as the same object, if its identity can matter."""
        if shapes.is_one_of(type(result), _NO_IDENTITY):
            return None
        return next((name for name, value in self._bound.items() if value is result), None)

    def reveal(self, outcome: Value | Failure) -> Any:
        """A recorded outcome in place of the call: make its changes, then return its value or raise its error.

        Raises:
            UnreplayableRun: The outcome needs a live value, or a class that is not declared or loaded.
            Divergence: The call has changed values that differ from the recorded ones.
        """
        try:
            if type(outcome) is Value and not outcome.head and not outcome.changes:
                return decode(outcome.body, self._seam.hints.get("return"))
            made, error = self._restore(outcome)
        except ReplayError as problem:
            self.sticks(problem)
            raise
        if error is not None:
            throw(error)
        return made

    def _restore(self, outcome: Value | Failure) -> tuple[Any, BaseException | None]:
        seam = self._seam
        made: Any = None
        error = restore_error(outcome.error) if isinstance(outcome, Failure) else None
        given = outcome.head.get("same") if isinstance(outcome, Value) else None
        if isinstance(outcome, Value):
            made = self._bound[given] if given in self._bound else decode(outcome.body, seam.hints.get("return"))
            told = outcome.head.get(TOLD)
            if told is not None and seam.hints.get("return") is str and type(made) is not str:
                made = told if type(told) is str else json.dumps(made, ensure_ascii=False)
        if outcome.changes:
            look = self._before if self._before is not None else Sight()
            declared = {"args." + name: hint for name, hint in seam.hints.items()}
            reapply(outcome.changes, look, declared, seam.surroundings.assign, seam.name)
        return made, error


def _digest(value: Any) -> str | None:
    """Digest of a value, the same in every process; None where a part of it cannot be stored.

    Credentials are no part of it: a reader of the run could try candidates.
    """
    encoded = encode(value, sort_sets=True)
    return None if encoded.opaque else blake2b(normalise(encoded.body), digest_size=16).hexdigest()


def _encoded_singly(values: Mapping[str, Any]) -> tuple[bytes, dict[str, Json]]:
    """Arguments encoded one by one, and by argument the types in it that cannot be stored."""
    parts = []
    opaque: dict[str, Json] = {}
    for name, value in values.items():
        encoded = encode(value, sort_sets=True)
        if encoded.opaque:
            opaque[name] = list(encoded.opaque)
        parts.append(json.dumps(name).encode() + b":" + encoded.body)
    return b"{" + b",".join(parts) + b"}", opaque


def _evidence(changes: Mutation) -> dict[str, Json]:
    """The evidence on the changes of a call."""
    head: dict[str, Json] = {}
    if changes.roots:
        head["mutates"] = list(changes.roots)
    if changes.opaque:
        head["mutates_opaque"] = list(changes.opaque)
    if changes.unchecked:
        head["unchecked"] = list(changes.unchecked)
    return head


def throw(error: BaseException) -> None:
    """Raise a restored exception with its own context, which a plain ``raise`` would replace."""
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context


def is_state(value: Any) -> bool:
    """Whether a value can be a state: a mapping or a record, such as a step's return value."""
    cls = type(value)
    return issubclass(cls, dict) or shapes.shape_of(cls).kind in ("dataclass", "pydantic", "attrs")
