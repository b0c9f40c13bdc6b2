"""YAML as plain data: read within limits, and only into text, numbers, lists and mappings.

PyYAML's parser yields events, and this module makes values from them. So no tag chooses a class, and nesting
needs no recursion. An alias is the same value again, and counts at its full size. A file that is too large is refused
before it is built.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from reenact.errors import InteropError
from reenact.interop.file_refusal import refused

MOST_NODES: Final = 500_000
"""The most values in a file, with each alias at its full size."""
DEEPEST: Final = 100

_LONG: Final = 64
"""Further characters of a text count as values in portions of this size, so that aliases of a long text do not get
around the limit."""
_PREFIX: Final = "tag:yaml.org,2002:"
_TEXTS: Final = frozenset({"str", "python/str", "python/unicode"})
_SCALARS: Final = frozenset({"null", "bool", "int", "float", "binary"})
_FROZENSETS: Final = {f"python/object/apply:{module}.frozenset" for module in ("__builtin__", "builtins")}
_LISTS: Final = frozenset({"seq", "python/tuple", *_FROZENSETS})
_MAPPINGS: Final = frozenset({"map", "python/object:vcr.request.Request"})
"""Tags that VCR.py wrote before its version 1: they are read as the data under them, and no class is looked up."""


def library() -> Any:
    """PyYAML.

    Raises:
        InteropError: PyYAML is not installed; the message says how to install it.
    """
    try:
        return import_module("yaml")
    except ImportError:
        raise InteropError(
            "reading and writing YAML needs PyYAML, which is not installed",
            cause="it is an extra of reenact, called yaml",
            next_command="pip install 'reenact[yaml]'",
        ) from None


def read(data: bytes) -> Any:
    """The one document of a YAML text: ``None``, ``bool``, ``int``, ``float``, ``str``, ``bytes``, ``list``, ``dict``.

    Keys of mappings are always text, and so are dates.

    Raises:
        InteropError: The text is no YAML, has a tag or key that is no data, or is too large.
    """
    yaml = library()
    parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(yaml)
    try:
        for event in yaml.parse(data, Loader=parser):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).partition("\n")[0]
        raise refused(f"this is no YAML: {problem}", "another format, or a damaged file", where=where) from None
    return builder.document


class _Open:
    """A list or mapping that is being filled."""

    __slots__ = ("anchor", "key", "nodes", "value")

    def __init__(self, value: Any, anchor: str | None, nodes: int) -> None:
        self.value = value
        self.anchor = anchor
        self.nodes = nodes
        self.key: str | None = None


class _Builder:
    """Makes values of events, keeping its own stack.

    Attributes:
        document: The document, once its end has come.
    """

    def __init__(self, yaml: Any) -> None:
        self.document: Any = None
        self._yaml = yaml
        self._constructor = yaml.constructor.SafeConstructor()
        self._resolvers = yaml.SafeLoader.yaml_implicit_resolvers
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._documents = 0
        self._takes: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceStartEvent: self._sequence,
            yaml.MappingEndEvent: self._close,
            yaml.SequenceEndEvent: self._close,
            yaml.DocumentStartEvent: self._begin,
        }

    def take(self, event: Any) -> None:
        """Take the next event."""
        handler = self._takes.get(type(event))
        if handler is not None:
            handler(event)

    def _begin(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise refused("a second document begins", "a cassette is one document", where=_line(event))

    def _count(self, nodes: int, event: Any) -> None:
        self._nodes += nodes
        if self._nodes > MOST_NODES:
            raise refused(
                f"it holds more than {MOST_NODES} values",
                "aliases of aliases that stand for a great many values, or a file that should be split",
                where=_line(event),
            )

    def _open(self, value: Any, event: Any) -> None:
        if len(self._stack) >= DEEPEST:
            raise refused(
                f"it is nested deeper than {DEEPEST} levels", "made to exhaust its reader", where=_line(event)
            )
        self._count(1, event)
        self._stack.append(_Open(value, event.anchor, self._nodes))

    def _mapping(self, event: Any) -> None:
        self._require(event, _MAPPINGS)
        self._open({}, event)

    def _sequence(self, event: Any) -> None:
        self._require(event, _LISTS)
        self._open([], event)

    @staticmethod
    def _require(event: Any, names: frozenset[str]) -> None:
        if event.tag is not None and event.tag.removeprefix(_PREFIX) not in names:
            raise _tagged(event)

    def _close(self, event: Any) -> None:
        done = self._stack.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = (done.value, self._nodes - done.nodes + 1)
        self._give(done.value, event)

    def _alias(self, event: Any) -> None:
        found = self._anchors.get(event.anchor)
        if found is None:
            raise refused(f"*{event.anchor} stands for itself, or for nothing", "a damaged file", where=_line(event))
        value, nodes = found
        self._count(nodes, event)
        self._give(value, event)

    def _scalar(self, event: Any) -> None:
        nodes = 1 + len(event.value) // _LONG
        self._count(nodes, event)
        holder = self._stack[-1] if self._stack else None
        if holder is not None and type(holder.value) is dict and holder.key is None:
            self._require(event, _TEXTS | _SCALARS)
            value: Any = event.value
        else:
            value = self._value(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, nodes)
        self._give(value, event)

    def _give(self, value: Any, event: Any) -> None:
        """Put a value where it belongs."""
        if not self._stack:
            self.document = value
            return
        holder = self._stack[-1]
        if type(holder.value) is list:
            holder.value.append(value)
        elif holder.key is None:
            if not isinstance(value, str):
                raise refused(
                    "a list or mapping stands as a key", "no format of recordings has such", where=_line(event)
                )
            if value in holder.value or value == "<<":
                raise refused(
                    f"the key {value[:60]!r} cannot be read", "it occurs twice, or is a merge key", where=_line(event)
                )
            holder.key = value
        else:
            holder.value[holder.key] = value
            holder.key = None

    def _value(self, event: Any) -> Any:
        text: str = event.value
        if event.tag is not None:
            sort = event.tag.removeprefix(_PREFIX)
            sort = "binary" if sort == "!binary" else sort  # Ruby writes it like this
        elif event.implicit[0]:
            sort = self._resolved(text)
        else:
            return text
        if sort in _TEXTS:
            return text
        if sort not in _SCALARS:
            if event.tag is None:
                return text  # dates, merge keys and value keys stay text
            raise _tagged(event)
        try:
            return self._read(sort, text)
        except (ValueError, KeyError, binascii.Error):
            raise refused(f"{text[:40]!r} is no {sort}", "a damaged file", where=_line(event)) from None

    def _read(self, sort: str, text: str) -> Any:
        if sort == "null":
            return None
        if sort == "binary":
            return base64.b64decode("".join(text.split()), validate=True)
        node = self._yaml.ScalarNode(_PREFIX + sort, text)
        return getattr(self._constructor, f"construct_yaml_{sort}")(node)

    def _resolved(self, text: str) -> str:
        """The type that a plain scalar looks like."""
        for tag, pattern in self._resolvers.get(text[:1], ()):
            if pattern.match(text):
                return str(tag).removeprefix(_PREFIX)
        return "str"


def _tagged(event: Any) -> InteropError:
    tag = event.tag.replace(_PREFIX, "!!", 1)
    return refused(
        f"the tag {tag[:80]!r} asks for an object, and only data is read",
        "written by a very old tool, or made to execute something",
        where=_line(event),
    )


def _line(event: Any) -> str:
    return f"line {event.start_mark.line + 1}"


def write(value: Any) -> bytes:
    """Plain data as YAML, each text on as few lines as it has, keys in their order."""
    yaml = library()
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    plain = type("_Plain", (dumper,), {"ignore_aliases": lambda self, data: True})
    text: str = yaml.dump(value, Dumper=plain, sort_keys=False, allow_unicode=True, width=1 << 30)
    return text.encode()
