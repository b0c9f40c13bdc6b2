"""The functions of expressions on one value: whether it is JSON, matches a pattern, or conforms to a schema.

The pattern or schema of each use is checked whole when an expression is compiled. No function raises an error for data.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from reenact.facts.call import Json
from reenact.facts.patterns import compile_pattern
from reenact.facts.schemas import SchemaError, check_schema, violation

__all__ = ["ASSERTIONS", "assertion", "objection", "shortcoming"]

ASSERTIONS: Final[Mapping[str, str]] = {
    "conforms": "conforms(VALUE, SCHEMA): whether VALUE conforms to a JSON schema, written out or '@schema.json'",
    "json": "json(TEXT): the data in a text of JSON; unknown if it is not JSON",
    "matches": "matches(TEXT, 'PATTERN'): whether a regular expression is found anywhere in it",
}
"""Functions over one value, with the text that the reference shows for each."""

_Spend = Callable[[int], None]


def objection(name: str, args: Sequence[ast.expr], files: Mapping[str, Json]) -> str:
    """The fault in a use of one of the functions; empty without a fault.

    Args:
        name: The function.
        args: Its arguments.
        files: Schemas that may be named, by their names (``@order.json``).
    """
    if name == "json":
        return "" if len(args) == 1 else "json(…) takes one text"
    if len(args) != 2:
        return f"{name}(…) takes a value, and what it is compared with"
    try:
        given = literal(args[1])
        if name == "matches":
            if not isinstance(given, str):
                return "the pattern is a text in quotes"
            compile_pattern(given)
        else:
            check_schema(_schema(given, files))
    except (ValueError, RecursionError) as error:
        return str(error) or "it is nested too deeply"
    return ""


def assertion(name: str, value: Json, rest: Sequence[ast.expr], files: Mapping[str, Json], spend: _Spend) -> Json:
    """The value of one of the functions; None where ``value`` is unknown, or is of a type to which the function does
    not apply.

    Args:
        name: The function.
        value: The value that the function is asked about.
        rest: The other arguments in its brackets; checked.
        files: Schemas that may be named, by their names.
        spend: Called with the amount of work; may raise.
    """
    if value is None:
        return None
    if name == "json":
        return _read(value, spend)
    if name == "matches":
        return compile_pattern(literal(rest[0])).found_in(value, spend) if isinstance(value, str) else None
    return shortcoming(value, rest[0], files, spend) is None


def shortcoming(value: Json, schema: ast.expr, files: Mapping[str, Json], spend: _Spend) -> str | None:
    """The first place where a value does not conform to a schema, in words; None where the value conforms."""
    try:
        return violation(value, _schema(literal(schema), files), spend)
    except SchemaError as error:
        return str(error)


def literal(node: ast.expr) -> Json:
    """Data that are written out in an expression.

    Raises:
        ValueError: A part of the expression is no data.
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [literal(part) for part in parts]
        case ast.Dict(keys=keys, values=values):
            return {literal(key): literal(part) for key, part in zip(keys, values, strict=True) if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    raise ValueError("it must be written out here, in quotes or brackets")


def _schema(given: Json, files: Mapping[str, Json]) -> Json:
    if not isinstance(given, str):
        return given
    if given not in files:
        raise SchemaError(
            f"there is no schema {given} at hand"
            if given.startswith("@")
            else "a schema is written out, or '@file.json'"
        )
    return files[given]


def _read(value: Json, spend: _Spend) -> Json:
    """The data of a JSON text; any other value unchanged, because it is data already."""
    if not isinstance(value, str):
        return value
    spend(len(value) // 16)
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
