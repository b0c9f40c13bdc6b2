"""Schemas: whether data conform to a JSON Schema (draft 2020-12), and where they first do not.

Schemas come from files, and data may be written by a model. So nothing here fetches anything, patterns are searched for
in linear time, and work is counted. An unknown keyword is refused by name. If it were ignored, all data would conform
to it. ``format`` describes and does not check, as the standard has it; ``$ref`` stays inside its schema.

Why not a library: ``jsonschema`` backtracks in patterns, fetches references, and every recorder would depend on it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.difference import dotted
from reenact.facts.patterns import PatternError, compile_pattern

__all__ = ["MAX_DEPTH", "SchemaError", "check_schema", "violation"]

MAX_DEPTH: Final = 100
"""How deeply schemas may be nested, with references followed."""

_Path = tuple[str | int, ...]
_Spend = Callable[[int], None]


class SchemaError(ValueError):
    """A schema that cannot be used, with the place and the reason in words."""


def check_schema(schema: Json) -> None:
    """Check a whole schema, before any value is judged by it.

    Raises:
        SchemaError: The data is no schema, or has an unknown keyword.
    """
    try:
        _Check(schema).run(schema, ())
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None


def violation(value: Json, schema: Json, spend: _Spend = lambda _: None) -> str | None:
    """Where data first do not conform to a schema.

    Args:
        value: The data.
        schema: A schema that has been checked.
        spend: Called with the amount of work: one unit a keyword, and the steps of patterns. May raise.

    Returns:
        The place and what is wrong there, in words; None where the data conform.

    Raises:
        SchemaError: Its references, or the data, go deeper than ``MAX_DEPTH``.
    """
    found = next(_Judge(schema, spend).faults(value, schema, (), 0), None)
    if found is None:
        return None
    place, what = found
    return f"{dotted(place)}: {what}" if place else what


# --- looking a schema over --------------------------------------------------------------------------------------------

_NUMBERS = ("multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum")
_COUNTS = (
    "maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains", "maxProperties", "minProperties",
)  # fmt: skip
_SCHEMAS = ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else")
_LISTS_OF_SCHEMAS = ("prefixItems", "allOf", "anyOf", "oneOf")
_MAPS_OF_SCHEMAS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_SIMPLE = frozenset(
    ("$id", "$ref", "const", "dependentRequired", "enum", "pattern", "required", "type", "uniqueItems")
)  # fmt: skip
_REMARKS = frozenset(
    ("$comment", "$schema", "default", "deprecated", "description", "examples", "format", "readOnly", "title")
) | {"writeOnly"}


class _Check:
    """Checks a schema, with the target of each reference once."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._followed: set[str] = set()

    def run(self, schema: Json, at: _Path) -> None:
        """Check one schema; raises an error that names the first fault."""
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise _refused(at, "a schema is an object, True or False")
        for keyword, value in schema.items():
            self._keyword(keyword, value, (*at, keyword))

    def _keyword(self, keyword: str, value: Json, here: _Path) -> None:
        if keyword in _SCHEMAS:
            self.run(value, here)
        elif keyword in _LISTS_OF_SCHEMAS:
            _want(isinstance(value, list) and bool(value), here, "it is a list of schemas")
            for number, part in enumerate(value):
                self.run(part, (*here, number))
        elif keyword in _MAPS_OF_SCHEMAS:
            _want(isinstance(value, dict), here, "it is an object of schemas")
            for name, part in value.items():
                self.run(part, (*here, name))
            if keyword == "patternProperties":
                _patterns(value, here)
        elif keyword in _NUMBERS:
            _want(_is_number(value) and (keyword != "multipleOf" or value > 0), here, "it is a number")
        elif keyword in _COUNTS:
            _want(_is_integer(value) and value >= 0, here, "it is a whole number")
        elif keyword in _SIMPLE:
            self._simple(keyword, value, here)
        elif keyword not in _REMARKS:
            raise _refused(here, "the keyword is not known here, and an unchecked keyword would look like a check")

    def _simple(self, keyword: str, value: Json, here: _Path) -> None:
        match keyword:
            case "type":
                types = value if isinstance(value, list) else [value]
                _want(
                    bool(types) and all(isinstance(each, str) and each in _OF for each in types),
                    here,
                    f"a type is one of {', '.join(_OF)}",
                )
            case "enum":
                _want(isinstance(value, list), here, "it is a list of values")
            case "required":
                _want(_are_texts(value), here, "it is a list of names")
            case "dependentRequired":
                _want(isinstance(value, dict) and all(map(_are_texts, value.values())), here, "it maps names to names")
            case "pattern":
                _want(isinstance(value, str), here, "it is a text")
                _patterns([value], here)
            case "$ref":
                target = _resolved(self._root, value, here)
                if value not in self._followed:
                    self._followed.add(value)
                    self.run(target, here)
            case "$id":
                _want(len(here) == 1, here, "it may name the whole schema only")


def _patterns(texts: Any, here: _Path) -> None:
    for text in texts:
        try:
            compile_pattern(text)
        except PatternError as error:
            raise _refused(here, str(error)) from None


def _resolved(root: Json, reference: Json, here: _Path = ()) -> Json:
    """The schema that a reference inside the same schema means."""
    inside = isinstance(reference, str) and (reference == "#" or reference.startswith("#/"))
    _want(inside, here, "a reference stays inside the schema: #/$defs/x")
    found = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            raise _refused(here, f"nothing stands at {reference}")
    _want(isinstance(found, (dict, bool)), here, f"no schema stands at {reference}")
    return found


def _want(right: bool, at: _Path, what: str) -> None:
    if not right:
        raise _refused(at, what)


def _refused(at: _Path, what: str) -> SchemaError:
    return SchemaError(f"at {dotted(at)}: {what}" if at else what)


# --- judging data -----------------------------------------------------------------------------------------------------

_Faults = Iterator[tuple[_Path, str]]


class _Judge:
    """Checks data against one whole schema. Violations are found lazily, in order."""

    def __init__(self, root: Json, spend: _Spend) -> None:
        self._root = root
        self._spend = spend

    def faults(self, value: Json, schema: Json, at: _Path, depth: int) -> _Faults:
        """The faults in ``value``, each with its place."""
        if depth > MAX_DEPTH:
            raise SchemaError(f"at {dotted(at)}: it goes deeper than {MAX_DEPTH}; a reference may lead to itself")
        if schema is True or schema is False:
            if schema is False:
                yield at, "nothing may stand here"
            return
        self._spend(len(schema))
        yield from self._whole(value, schema, at)
        if isinstance(value, str):
            yield from self._text(value, schema, at)
        elif isinstance(value, list):
            yield from self._list(value, schema, at, depth + 1)
        elif isinstance(value, dict):
            yield from self._object(value, schema, at, depth + 1)
        elif _is_number(value):
            yield from _number(value, schema, at)
        yield from self._combined(value, schema, at, depth + 1)

    def _whole(self, value: Json, schema: Mapping[str, Json], at: _Path) -> _Faults:
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            if not any(_OF[each](value) for each in types):
                yield at, f"{_brief(value)} is not of type {' or '.join(types)}"
        if "const" in schema and not self._same(value, schema["const"]):
            yield at, f"{_brief(value)} is not {_brief(schema['const'])}"
        if "enum" in schema and not any(self._same(value, each) for each in schema["enum"]):
            yield at, f"{_brief(value)} is none of {_brief(schema['enum'])}"

    def _text(self, value: str, schema: Mapping[str, Json], at: _Path) -> _Faults:
        yield from _counted(len(value), schema, at, "Length", "characters")
        if "pattern" in schema and not compile_pattern(schema["pattern"]).found_in(value, self._spend):
            yield at, f"{_brief(value)} does not match {schema['pattern']}"

    def _list(self, value: list[Json], schema: Mapping[str, Json], at: _Path, depth: int) -> _Faults:
        yield from _counted(len(value), schema, at, "Items", "members")
        if schema.get("uniqueItems") is True:
            seen: set[str] = set()
            for number, member in enumerate(value):
                spelled = self._spelled(member)
                if spelled in seen:
                    yield (*at, number), f"{_brief(member)} stands there twice"
                seen.add(spelled)
        first = schema.get("prefixItems", [])
        for number, (member, part) in enumerate(zip(value, first, strict=False)):
            yield from self.faults(member, part, (*at, number), depth)
        if "items" in schema:
            for number in range(len(first), len(value)):
                yield from self.faults(value[number], schema["items"], (*at, number), depth)
        if "contains" in schema:
            fits = sum(self._fits(member, schema["contains"], depth) for member in value)
            if fits < schema.get("minContains", 1):
                yield at, f"{fits} members match `contains`, at least {schema.get('minContains', 1)} must be"
            if fits > schema.get("maxContains", fits):
                yield at, f"{fits} members match `contains`, at most {schema['maxContains']} may be"

    def _object(self, value: dict[str, Json], schema: Mapping[str, Json], at: _Path, depth: int) -> _Faults:
        yield from _counted(len(value), schema, at, "Properties", "properties")
        for name in schema.get("required", ()):
            if name not in value:
                yield at, f"{name!r} is missing"
        for name, others in schema.get("dependentRequired", {}).items():
            for other in others if name in value else ():
                if other not in value:
                    yield at, f"{other!r} is missing beside {name!r}"
        for name, member in value.items():
            yield from self._property(name, member, schema, (*at, name), depth)
        for name, part in schema.get("dependentSchemas", {}).items():
            if name in value:
                yield from self.faults(value, part, at, depth)

    def _property(self, name: str, member: Json, schema: Mapping[str, Json], at: _Path, depth: int) -> _Faults:
        if "propertyNames" in schema:
            yield from self.faults(name, schema["propertyNames"], at, depth)
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        parts = [properties[name]] if name in properties else []
        parts += [part for text, part in patterns.items() if compile_pattern(text).found_in(name, self._spend)]
        if not parts and schema.get("additionalProperties") is False:
            yield at[:-1], f"{name!r} is not expected"
        elif not parts and "additionalProperties" in schema:
            parts.append(schema["additionalProperties"])
        for part in parts:
            yield from self.faults(member, part, at, depth)

    def _combined(self, value: Json, schema: Mapping[str, Json], at: _Path, depth: int) -> _Faults:
        if "$ref" in schema:
            yield from self.faults(value, _resolved(self._root, schema["$ref"]), at, depth)
        for part in schema.get("allOf", ()):
            yield from self.faults(value, part, at, depth)
        if "anyOf" in schema:
            firsts = []
            for part in schema["anyOf"]:
                fault = next(self.faults(value, part, at, depth), None)
                if fault is None:
                    break
                firsts.append(fault[1])
            else:
                yield at, f"it fits none of anyOf: {'; '.join(dict.fromkeys(firsts))}"
        if "oneOf" in schema:
            fits = sum(self._fits(value, part, depth) for part in schema["oneOf"])
            if fits != 1:
                yield at, f"it fits {fits or 'none'} of oneOf, exactly one is required"
        if "not" in schema and self._fits(value, schema["not"], depth):
            yield at, f"{_brief(value)} is what `not` excludes"
        if "if" in schema:
            branch = "then" if self._fits(value, schema["if"], depth) else "else"
            if branch in schema:
                yield from self.faults(value, schema[branch], at, depth)

    def _fits(self, value: Json, schema: Json, depth: int) -> bool:
        return next(self.faults(value, schema, (), depth), None) is None

    def _same(self, left: Json, right: Json) -> bool:
        return self._spelled(left) == self._spelled(right)

    def _spelled(self, value: Json) -> str:
        """The text of a value that is the same for equal values: for equal numbers, and for objects in any order."""
        try:
            text = json.dumps(_plain(value), sort_keys=True, default=repr)
        except RecursionError:
            raise SchemaError("the data are nested too deeply") from None
        self._spend(len(text) // 16)
        return text


def _number(value: float, schema: Mapping[str, Json], at: _Path) -> _Faults:
    if "minimum" in schema and not value >= schema["minimum"]:
        yield at, f"{value} is less than {schema['minimum']}"
    if "maximum" in schema and not value <= schema["maximum"]:
        yield at, f"{value} is more than {schema['maximum']}"
    if "exclusiveMinimum" in schema and not value > schema["exclusiveMinimum"]:
        yield at, f"{value} is not more than {schema['exclusiveMinimum']}"
    if "exclusiveMaximum" in schema and not value < schema["exclusiveMaximum"]:
        yield at, f"{value} is not less than {schema['exclusiveMaximum']}"
    if "multipleOf" in schema and not (
        _finite(value) and Fraction(str(value)) % Fraction(str(schema["multipleOf"])) == 0
    ):
        yield at, f"{value} is no multiple of {schema['multipleOf']}"


def _finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def _counted(size: int, schema: Mapping[str, Json], at: _Path, what: str, spoken: str) -> _Faults:
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}", size)
    if size < least:
        yield at, f"it has {size} {spoken}, at least {least} are asked for"
    if size > most:
        yield at, f"it has {size} {spoken}, at most {most} are asked for"


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Json) -> bool:
    """Whether a value is a whole number. The float 1.0 is one, too."""
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


_OF: Final[Mapping[str, Callable[[Json], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}
"""Each type, with the test for its values."""


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _plain(value: Json) -> Json:
    """A value with whole floats as integers, so that 1.0 is 1 while True stays True."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _brief(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:59] + "…"
