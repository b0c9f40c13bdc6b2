"""Exceptions of HTTP client libraries as data, and back as the same class with the same content.

An instance is rebuilt without its constructor: arguments and attributes are set as they were. Objects of the running
client that an exception refers to (the pool, the connection, the request) are stored as *roles*, names that the
replaying client fills with its own objects. Exceptions among the arguments or attributes are kept as ``members``.

Arguments and attributes are stored as JSON. A value other than a JSON scalar, a list or an object with string keys
becomes an object with one key: ``$bytes`` (latin-1), ``$tuple``, ``$role``, ``$like`` (a role's class with other
content), ``$error`` (index into ``members``), ``$opaque`` (type name).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from reenact.errors import UnreplayableRun
from reenact.facts.call import ErrorFact
from reenact.facts.interruptions import let_through

_DEEPEST = 12
_SYSTEM = "$os"

Roles = Mapping[str, Any]


def qualified(kind: type[BaseException]) -> str:
    """``module.QualName`` of an exception class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def describe(error: BaseException, roles: Roles | None = None) -> ErrorFact:
    """An exception, its notes and its chain of causes as data.

    Args:
        error: The exception.
        roles: Objects of the running client by name. Where the exception refers to one, its name is stored.
    """
    return _describe(error, roles or {}, 0)


def _describe(error: BaseException, roles: Roles, depth: int) -> ErrorFact:
    members: list[ErrorFact] = []
    state: dict[str, Any] = {name: value for name, value in vars(error).items() if name != "__notes__"}
    encoded = {name: _plain(value, roles, members, depth) for name, value in state.items()}
    if isinstance(error, OSError):
        system = (error.errno, error.strerror, error.filename)
        encoded[_SYSTEM] = [_plain(value, roles, members, depth) for value in system]
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    args = [_plain(value, roles, members, depth) for value in error.args] if not parts else [error.message]  # type: ignore[attr-defined]
    cause, context = error.__cause__, error.__context__
    shallow = depth < _DEEPEST
    return ErrorFact(
        type=qualified(type(error)),
        text=_text(error),
        args=_json(args),
        state=_json(encoded) if encoded else None,
        cause=_describe(cause, roles, depth + 1) if cause is not None and shallow else None,
        context=_describe(context, roles, depth + 1) if cause is None and context is not None and shallow else None,
        suppress_context=error.__suppress_context__,
        notes=tuple(str(note) for note in getattr(error, "__notes__", ())),
        members=tuple(_describe(part, roles, depth + 1) for part in parts) if parts else tuple(members),
    )


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as fault:
        let_through(fault)
        return type(error).__name__


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _plain(value: Any, roles: Roles, members: list[ErrorFact], depth: int) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    for name, role in roles.items():
        if role is value:
            return {"$role": name}
        if type(role) is type(value) and (name == "url" or isinstance(value, tuple)):
            return {"$like": [name, _varied(value, role, lambda item: _plain(item, roles, members, depth))]}
    if isinstance(value, BaseException) and depth < _DEEPEST:
        members.append(_describe(value, roles, depth + 1))
        return {"$error": len(members) - 1}
    return _plain_data(value, lambda item: _plain(item, roles, members, depth))


def _varied(value: Any, role: Any, inner: Callable[[Any], Any]) -> Any:
    """The difference between a value and a role of its class: text for objects made from text, a list of parts for a
    record (None for a part that is the role's, or cannot be stored), None for no difference."""
    if not isinstance(value, tuple):
        return str(value)
    parts = [None if own is same or own == same else [inner(own)] for own, same in zip(value, role, strict=True)]
    return [None if part and "$opaque" in str(part) else part for part in parts] if any(parts) else None


def _plain_data(value: Any, inner: Callable[[Any], Any]) -> Any:
    plain: Any = {"$opaque": f"{type(value).__module__}.{type(value).__qualname__}"}
    if isinstance(value, (bytes, bytearray)):
        plain = {"$bytes": bytes(value).decode("latin-1")}
    elif type(value) is list:
        plain = [inner(item) for item in value]
    elif type(value) is tuple:
        plain = {"$tuple": [inner(item) for item in value]}
    elif type(value) is dict and all(type(key) is str and not key.startswith("$") for key in value):
        plain = {key: inner(item) for key, item in value.items()}
    elif isinstance(value, int):  # enumerations of numbers: errno names, verify codes
        plain = int(value)
    return plain


def loaded_class(name: str) -> type[BaseException] | None:
    """The exception class of that qualified name, if the running program has already loaded it. Never imports."""
    module_name, _, qualname = name.rpartition(".")
    while module_name:
        module = sys.modules.get(module_name)
        if module is not None:
            found: Any = module
            for part in qualname.split("."):
                found = getattr(found, part, None)
            if isinstance(found, type) and issubclass(found, BaseException):
                return found
            return None
        module_name, _, part = module_name.rpartition(".")
        qualname = f"{part}.{qualname}"
    return None


def rebuild(fact: ErrorFact, roles: Roles | None = None) -> BaseException:
    """The recorded exception: same class, arguments, attributes, notes and chain.

    Args:
        fact: The result of ``describe``.
        roles: Objects of the running client by name.

    Raises:
        UnreplayableRun: The running program has not loaded the class of the exception, or of one in its chain; another
            class would send the agent's code down another branch.
    """
    roles = roles or {}
    kind = loaded_class(fact.type)
    if kind is None:
        raise UnreplayableRun(
            f"the recorded exception {fact.type} cannot be raised here: its class is not loaded",
            cause="another version of the client library, or a library that this replay did not import",
            next_command="reenact replay @ --events",
            missing=(fact.type,),
        )
    members = [rebuild(member, roles) for member in fact.members]
    args = tuple(_restored(value, roles, members) for value in json.loads(fact.args or b"[]"))
    stored = json.loads(fact.state) if fact.state else {}
    state = {name: _restored(value, roles, members) for name, value in stored.items()}
    error = _instance(kind, args, members, state.pop(_SYSTEM, None))
    vars(error).update(state)
    for note in fact.notes:
        error.add_note(note)
    if fact.cause is not None:
        error.__cause__ = rebuild(fact.cause, roles)
    elif fact.context is not None:
        error.__context__ = rebuild(fact.context, roles)
    error.__suppress_context__ = fact.suppress_context
    return error


def _instance(
    kind: type[BaseException], args: tuple[Any, ...], members: list[BaseException], system: list[Any] | None
) -> BaseException:
    if issubclass(kind, BaseExceptionGroup):
        return kind.__new__(kind, args[0], members)
    if system is None or not issubclass(kind, OSError):
        if kind.__module__ == "builtins":
            return kind(*args)
        error = kind.__new__(kind)
        error.args = args
        return error
    errno, strerror, filename = system
    if errno is None and strerror is None:
        given: tuple[Any, ...] = args
    else:
        given = (errno, strerror) if filename is None else (errno, strerror, filename)
    # The C part of an OSError is filled by __new__ or by __init__, depending on what the subclass overrides.
    error = OSError.__new__(kind, *given)
    OSError.__init__(error, *given)
    error.args = args
    return error


def _restored(value: Any, roles: Roles, members: list[BaseException]) -> Any:
    if type(value) is list:
        return [_restored(item, roles, members) for item in value]
    if type(value) is not dict:
        return value
    tag: str
    content: Any
    tag, content = next(iter(value.items()), ("", None))
    makers: dict[str, Callable[[], Any]] = {
        "$bytes": lambda: content.encode("latin-1"),
        "$tuple": lambda: tuple(_restored(item, roles, members) for item in content),
        "$role": lambda: roles.get(content),
        "$like": lambda: _alike(roles.get(content[0]), content[1], lambda item: _restored(item, roles, members)),
        "$error": lambda: members[content],
        "$opaque": lambda: None,
    }
    if tag in makers:
        return makers[tag]()
    return {key: _restored(item, roles, members) for key, item in value.items()}


def _alike(role: Any, varied: Any, inner: Callable[[Any], Any]) -> Any:
    if role is None or varied is None:
        return role
    if isinstance(varied, str):
        return type(role)(varied)
    return type(role)(*(same if part is None else inner(part[0]) for part, same in zip(varied, role, strict=True)))
