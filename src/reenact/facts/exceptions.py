"""The parts of an exception, and how one is made again without calling its class's own code.

The state of an exception is its ``args``, its instance dictionary, its slots and the fields that its built-in ancestor
keeps in C (``OSError.errno``, ``UnicodeDecodeError.object`` …). A class is found again only among those that the
running program has already loaded: no module is imported because data named it, except the transport of a library that
the program has loaded itself.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from reenact.errors import UnreplayableRun
from reenact.facts.interruptions import let_through
from reenact.facts.shapes import SCRIPT, mro_of, namespace_of, type_name

CHAIN_LIMIT = 16
"""How many causes and contexts of one exception are followed."""

_TRANSPORTS: Final[Mapping[str, str]] = {"httpcore": "httpx", "httpcore2": "httpx2"}
"""Packages that a library loads when it makes its first client. Where only the body of a frozen tool makes clients, a
replay does not load them."""
_HEAP_TYPE = 1 << 9
_HINT = (AttributeError, "obj")
_SCALARS = (str, int, float, bool, bytes, type(None))
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_GROUP_FIELDS = ("message", "exceptions")


def _fields(cls: type) -> Iterator[tuple[str, Any]]:
    """Slots and C fields of an exception class below ``BaseException``, base classes first."""
    for base in reversed(mro_of(cls)):
        if base is object or base is BaseException:
            continue
        for name, entry in namespace_of(base).items():
            if type(entry) in _DESCRIPTORS and not name.startswith("__"):
                yield name, entry


def _native(cls: type) -> type:
    """The nearest ancestor that is implemented in C: the only one whose ``__new__`` may be called."""
    return next(base for base in mro_of(cls) if not _flags(base) & _HEAP_TYPE)


def _flags(cls: type) -> int:
    flags: int = type.__dict__["__flags__"].__get__(cls)
    return flags


def _fresh(cls: type, args: tuple[Any, ...]) -> BaseException:
    made: BaseException = _native(cls).__new__(cls, *args)
    if BaseException.__dict__["args"].__get__(made) != args:
        BaseException.__dict__["args"].__set__(made, args)
    return made


def is_group(error: BaseException) -> bool:
    """Whether ``error`` is an exception group, whatever its class claims to be."""
    return issubclass(type(error), BaseExceptionGroup)


def args_of(error: BaseException) -> tuple[Any, ...]:
    """The real ``error.args``, even if the class of ``error`` overrides them."""
    args: tuple[object, ...] = BaseException.__dict__["args"].__get__(error)
    return args


def state_of(error: BaseException) -> dict[str, Any]:
    """Instance attributes, slots and C fields that have a value to keep, by name, without ``__notes__``."""
    cls = type(error)
    group = is_group(error)
    state: dict[str, object] = {}
    for name, descriptor in _fields(cls):
        if group and name in _GROUP_FIELDS:
            continue
        try:
            value = descriptor.__get__(error, cls)
        except Exception as fault:  # the field was never set
            let_through(fault)
            continue
        if value is None or _is_hint(cls, name, value):
            continue
        state[name] = value
    held: dict[str, object] = BaseException.__dict__["__dict__"].__get__(error)
    state.update((name, value) for name, value in held.items() if name != "__notes__")
    return state


def _is_hint(cls: type, name: str, value: object) -> bool:
    """Whether a field only helps the interpreter to suggest a spelling; such a field may hold any object."""
    if type(value) in _SCALARS:
        return False
    return name == _HINT[1] and issubclass(cls, _HINT[0])


def notes_of(error: BaseException) -> tuple[str, ...]:
    """The notes from ``add_note``."""
    held: dict[str, object] = BaseException.__dict__["__dict__"].__get__(error)
    notes = held.get("__notes__")
    return tuple(note for note in notes if type(note) is str) if type(notes) is list else ()


def text_of(error: BaseException) -> str:
    """``str()`` of an exception. The class's own ``__str__`` may run and may fail: then the text says so."""
    try:
        text = str(error)
    except Exception as fault:
        let_through(fault)
        return f"<{type_name(type(error))} whose str() fails>"
    return str.__str__(text)


def shows_arguments(cls: type) -> bool:
    """Whether the interpreter makes the text of a class's exceptions from their arguments."""
    maker = next(namespace_of(base)["__str__"] for base in mro_of(cls) if "__str__" in namespace_of(base))
    return type(maker) is type(BaseException.__str__)


def make_error(cls: type, args: tuple[object, ...], state: dict[str, object]) -> BaseException:
    """An exception with exactly this state; neither ``__init__`` nor ``__new__`` of the agent's class runs.

    Raises:
        TypeError, ValueError: An instance of the class cannot be made in this way.
    """
    error = _fresh(cls, args)
    fields = dict(_fields(cls))
    held: dict[str, object] = BaseException.__dict__["__dict__"].__get__(error)
    for name, value in state.items():
        descriptor = fields.get(name)
        if descriptor is None:
            held[name] = value
            continue
        try:
            descriptor.__set__(error, value)
        except (AttributeError, TypeError):  # the field is a read-only view of data that ``args`` already gave
            continue
    return error


def loaded_class(name: str) -> type[BaseException]:
    """The exception class of this ``module.QualName``: one that the program has loaded, or that one of its loaded
    libraries would load.

    Raises:
        UnreplayableRun: There is no such class, or there are several that cannot be told apart.
    """
    found = find_class(name)
    if found is not None and issubclass(found, BaseException):
        return found
    same = [cls for cls in _loaded() if type_name(cls) == name]
    if len(same) == 1:
        return same[0]
    package = name.partition(".")[0]
    if package not in sys.modules and _TRANSPORTS.get(package) in sys.modules:
        import_module(package)
        return loaded_class(name)
    problem = "several loaded classes bear that name" if same else "this program has not loaded that class"
    raise UnreplayableRun(
        f"a recorded {name} cannot be raised again: {problem}",
        cause="no substitute is raised, it would take another branch: import the class in the agent's own module",
        next_command="reenact replay @ --through TOOL",
        missing=(name,),
    )


def class_as_written(name: str) -> type[BaseException] | None:
    """The exception class that the program's own code gets by ``module.Name``, in whatever module it was defined; None
    where the program has none under that name."""
    held = (cls for cls in _held(name) if issubclass(cls, BaseException))
    try:
        return next(held, None) or loaded_class(name)
    except UnreplayableRun:
        return None


def find_class(name: str) -> type[Any] | None:
    """The class of this ``module.QualName`` that a loaded module holds under that name; nothing is imported."""
    return next((cls for cls in _held(name) if type_name(cls) == name), None)


def _held(name: str) -> Iterator[type[Any]]:
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        holder = ".".join(parts[:cut])
        module = (sys.modules.get(SCRIPT) if holder == "__main__" else None) or sys.modules.get(holder)
        if module is None:
            continue
        found: object = module
        for part in parts[cut:]:
            # Only existing attributes are read, because the __getattr__ of a lazy module might import.
            space = namespace_of(found) if isinstance(found, type) else getattr(found, "__dict__", {})
            found = space.get(part)
            if found is None:
                break
        if isinstance(found, type):
            yield found


def _loaded() -> Iterator[type[BaseException]]:
    seen = {id(BaseException)}
    todo: list[type[BaseException]] = [BaseException]
    while todo:
        cls = todo.pop()
        yield cls
        for child in type.__subclasses__(cls):
            if id(child) not in seen:
                seen.add(id(child))
                todo.append(child)
