"""Schemas judge as ``jsonschema`` does, name the first place that is wrong, and know every keyword they accept."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.schemas import SchemaError, check_schema, violation

DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.0, -1.5]) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
TYPE = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
NAMES = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
SMALL = st.integers(0, 3)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas with any keywords, over schemas of ``inner``."""
    some = st.lists(inner, min_size=1, max_size=2)
    properties = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    number = st.integers(-2, 2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPE | st.lists(TYPE, min_size=1, max_size=2, unique=True),
            "enum": st.lists(DATA, max_size=3), "const": DATA,
            "minLength": SMALL, "maxLength": SMALL, "pattern": st.sampled_from(["a", "^ab$", "b+"]),
            "minimum": number, "maximum": number, "exclusiveMinimum": number, "exclusiveMaximum": number,
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "items": inner, "prefixItems": some, "minItems": SMALL, "maxItems": SMALL, "uniqueItems": st.booleans(),
            "contains": inner, "minContains": SMALL, "maxContains": SMALL,
            "properties": properties, "additionalProperties": inner, "propertyNames": inner, "required": NAMES,
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^b$", "."]), inner, max_size=2),
            "minProperties": SMALL, "maxProperties": SMALL,
            "dependentRequired": st.dictionaries(st.sampled_from("abc"), NAMES, max_size=2),
            "dependentSchemas": properties,
            "allOf": some, "anyOf": some, "oneOf": some, "not": inner, "if": inner, "then": inner, "else": inner,
        },
    )  # fmt: skip


SCHEMAS = st.recursive(st.booleans() | schemas(st.booleans()), schemas, max_leaves=6)


@given(SCHEMAS, DATA)
def test_it_judges_as_the_library_does(schema: Any, value: Any) -> None:
    check_schema(schema)
    assert (violation(value, schema) is None) == jsonschema.Draft202012Validator(schema).is_valid(value)


TREE = {"$defs": {"tree": {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/tree"}}}}}}


@pytest.mark.parametrize(
    ("value", "schema", "words"),
    [
        ({"docs": [{"title": 5}]}, {"properties": {"docs": {"items": {"properties": {"title": {"type": "string"}}}}}},
         "docs.0.title: 5 is not of type string"),
        ({"a": 1}, {"required": ["b"]}, "'b' is missing"),
        ({"a": 1}, {"additionalProperties": False}, "'a' is not expected"),
        ({"kids": [{"kids": [3]}]}, TREE | {"$ref": "#/$defs/tree"}, "kids.0.kids.0: 3 is not of type object"),
        ([1, 1.0], {"uniqueItems": True}, "1: 1.0 stands there twice"),
        (10**400, {"multipleOf": 3}, "is no multiple of 3"),
        (True, {"const": 1}, "True is not 1"),
        ("no", {"anyOf": [{"type": "null"}, {"minLength": 3}]}, "it fits none of anyOf"),
    ],
)  # fmt: skip
def test_the_first_place_that_is_wrong_is_named(value: Any, schema: Any, words: str) -> None:
    check_schema(schema)
    assert words.lower() in str(violation(value, schema)).lower()


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"propertys": {}}, "at propertys: the keyword is not known"),
        ({"items": {"unevaluatedItems": False}}, "at items.unevaluatedItems: the keyword is not known"),
        ({"type": "text"}, "a type is one of"),
        ({"type": [["string"]]}, "a type is one of"),
        ({"$ref": "https://a.test/schema"}, "a reference stays inside the schema"),
        ({"$ref": "#anchor"}, "a reference stays inside the schema"),
        ({"$ref": "#/$defs/none"}, "nothing stands at"),
        ({"$ref": "#/default", "default": {"propertys": 1}}, "the keyword is not known"),
        ({"pattern": r"(a)\1"}, "a back-reference"),
        ({"patternProperties": {"(": True}}, "it is no pattern"),
        ({"minLength": -1}, "it is a whole number"),
        ({"anyOf": []}, "it is a list of schemas"),
        ("object", "a schema is an object"),
    ],
)
def test_what_is_no_schema_here_is_refused_with_its_place(schema: Any, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        check_schema(schema)
    assert words in str(caught.value)


def test_a_reference_to_itself_ends() -> None:
    loop = {"$ref": "#"}
    check_schema(loop)
    with pytest.raises(SchemaError, match="deeper than"):
        violation(1, loop)


def test_what_branches_without_end_is_stopped_by_its_work() -> None:
    wild = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "not": {}}
    check_schema(wild)
    left = [20_000]

    def spend(units: int) -> None:
        left[0] -= units
        if left[0] < 0:
            raise OverflowError

    with pytest.raises((OverflowError, SchemaError)):
        violation(1, wild, spend)
