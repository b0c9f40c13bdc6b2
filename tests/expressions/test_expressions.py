"""Expressions are a closed grammar: what is in it evaluates, what is not is a usage error, and nothing else happens."""

from __future__ import annotations

import ast
import re
from random import Random
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from reenact.errors import UsageError
from reenact.facts import expressions
from reenact.facts.expressions import FUNCTIONS, Word, WordForm, compile_expression

WORDS = (
    Word("status", WordForm.VALUE, "how it stands", "text"),
    Word("tokens", WordForm.VALUE, "how many tokens", "number"),
    Word("cost", WordForm.VALUE, "money; unknown here"),
    Word("args", WordForm.EITHER, "arguments"),
    Word("result", WordForm.VALUE, "what came back"),
    Word("calls", WordForm.CALL, "how many calls of a name"),
    Word("before", WordForm.NAMES, "what came before what"),
    Word("asks", WordForm.TEXTS, "asks somebody"),
)


class Data:
    """A scope over plain data that remembers what was asked."""

    def __init__(self, **values: Any) -> None:
        self.values = {"status": "failed", "tokens": 8000, "args": {"query": "refund", "ids": [3, 1, 2]}} | values
        self.asked: list[str] = []

    def value(self, name: str) -> Any:
        self.asked.append(name)
        return self.values.get(name)

    def call(self, name: str, argument: str) -> Any:
        self.asked.append(f"{name}:{argument}")
        return {
            "calls:search_docs": 20,
            "calls:get-order": 1,
            "args:search_docs": [{"query": "a"}, {"query": "b"}],
        }.get(f"{name}:{argument}")


def value(text: str, **values: Any) -> Any:
    return compile_expression(text, WORDS).evaluate(Data(**values))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status == 'failed' and tokens > 100", True),
        ("status in ['ok', 'failed']", True),
        ("status not in ('ok',)", True),
        ("not status == 'ok'", True),
        ("1 < 2 < 2", False),
        ("tokens / 2 + 1 - 3 * -1", 4004.0),
        ("7 // 2 + 7 % 4", 6),
        ("'fu' in args['query']", True),
        ("args['ids'][-1]", 2),
        ("len(args['ids']) == 3", True),
        ("min(args['ids']), max(args['ids'])", [1, 3]),
        ("max(1, 5, 3)", 5),
        ("sum(args['ids'])", 6),
        ("any(i > 2 for i in args['ids'])", True),
        ("all(i > 2 for i in args['ids'])", False),
        ("sum(i * i for i in args['ids'] if i > 1)", 13),
        ("len(i for i in args['ids'] if i > 1)", 2),
        ("any([False, True])", True),
        ("args == {'query': 'refund', 'ids': [3, 1, 2]}", True),
        ("calls(search_docs) <= 3", False),
        ("calls('get-order') == 1", True),
        ("all('x' != a['query'] for a in args(search_docs))", True),
        ("'a' + 'b'", "ab"),
        ("""json('{"a": [1, null]}')['a']""", [1, None]),
        ("json(args)['query']", "refund"),
        ("matches(status, '^F') or matches(status, '(?i)^F')", True),
        ("matches(args['query'], 'x')", False),
        ("conforms(args, {'required': ['query'], 'properties': {'ids': {'items': {'type': 'integer'}}}})", True),
        ("conforms(args, {'required': ['nothing']})", False),
        ("conforms(tokens, True) and not conforms(tokens, False)", True),
        ("all(matches(a['query'], '[ab]') for a in args(search_docs))", True),
        ("args() == args", True),
    ],
)
def test_grammar_evaluates_as_written(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cost > 0.01", None),
        ("cost == None", True),
        ("cost != None", False),
        ("not cost", None),
        ("cost > 1 and False", False),
        ("cost > 1 and True", None),
        ("cost > 1 or True", True),
        ("cost > 1 or False", None),
        ("cost + 1", None),
        ("args['missing']['deeper'] == None", True),
        ("args['ids'][99]", None),
        ("args < 3", None),
        ("tokens / 0", None),
        ("tokens % 0", None),
        ("'a' * 1000", None),
        ("'%s' % status", None),
        ("sum(['a'])", None),
        ("max([])", None),
        ("'x' in cost", None),
        ("any([None, False])", None),
        ("1 < 2 < cost", None),
        ("2 < 1 < cost", False),
        ("len(tokens)", None),
        ("sum(x for x in cost)", None),
        ("1e308 * 10 > 1", True),
        ("json('no JSON')", None),
        ("json('null')", None),
        ("json(cost)", None),
        ("json('[' * 1) == None", True),
        ("matches(cost, 'x')", None),
        ("matches(tokens, 'x')", None),
        ("conforms(cost, {})", None),
    ],
)
def test_what_the_data_do_not_say_is_unknown(text: str, expected: object) -> None:
    assert value(text) is expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not an expression"),
        ("status ==", "not an expression"),
        ("status.upper()", "only the functions of the table"),
        ("status.__class__", "a dot is not in the grammar, at position 1\n  status.__class__\n  ^\n"),
        ("stauts == 'ok'", "did you mean status?"),
        ("tokens > 'a'", "tokens is a number, and this is a text, at position 10"),
        ("'8' == tokens", "how many tokens"),
        ("status == 200", "status is a text, and this is a number, at position 11"),
        ("true", "did you mean True?"),
        ("__import__('os')", "unknown name __import__"),
        ("open('x')", "unknown name open"),
        ("(lambda: 1)()", "only the functions"),
        ("lambda: 1", "lambda is not in the grammar"),
        ("[x for x in args]", "a list made by a loop is not in the grammar"),
        ("(x for x in args)", "a loop outside"),
        ("f'{status}'", "an f-string is not in the grammar"),
        ("1 if status else 2", "if … else is not in the grammar"),
        ("(status := 1)", "an assignment is not in the grammar"),
        ("cost is None", "write `== None`"),
        ("9 ** 9", "this operator is not in the grammar"),
        ("1 << 99", "this operator is not in the grammar"),
        ("args['ids'][0:2]", "a slice is not"),
        ("{**args}", "the keys of an object are strings"),
        ("len(args, args)", "len(…) takes one list"),
        ("len(obj=args)", "plain arguments only"),
        ("len(*args)", "plain arguments only"),
        ("calls", "write calls(search_docs)"),
        ("calls(1)", "takes one name"),
        ("calls(gpt-x) == 0", 'write calls("gpt-x");'),
        ("calls(search_docs, b)", "takes one name"),
        ("status(x)", "write status"),
        ("any(status for status in args)", "cannot be the name of a loop"),
        ("any(__x for __x in args)", "cannot be the name of a loop"),
        ("any(x for x, y in args)", "one loop over one name"),
        ("b'bytes'", "only numbers, strings"),
        ("1j", "only numbers, strings"),
        ("...", "only numbers, strings"),
        ("await status", "this is not in the grammar"),
        ("-" * 3000 + "1", "characters"),
        ("(" * 900 + "1" + ")" * 900, "not an expression"),
        ("-" * 500 + "1", "too large here"),
        ("+".join("1" * 400), "too large here"),
        ("status\x00", "not an expression"),
        ("matches(status)", "takes a value, and what it is compared with"),
        ("matches(status, status)", "it must be written out"),
        ("matches(status, 5)", "the pattern is a text"),
        ("matches(status, '(')", "it is no pattern"),
        ("matches(status, '(a)\\\\1')", "a back-reference"),
        ("conforms(status, {'typ': 1})", "at typ: the keyword is not known"),
        ("conforms(status, '@a.json')", "there is no schema @a.json at hand"),
        ("conforms(status, 'a.json')", "a schema is written out"),
        ("json(status, 1)", "json(…) takes one text"),
        ("any(json for json in args)", "cannot be the name of a loop"),
        ("calls()", "takes one name"),
        ("before(a)", "takes two names or more"),
        ("before(a, 1)", "takes two names or more"),
        ("before", "write before(…)"),
        ("asks(a)", "takes a text in quotes"),
        ("asks('a', b)", "takes a text in quotes"),
        ("asks('a', True)", "takes a text in quotes"),
    ],
)
def test_what_is_not_in_the_grammar_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_expression(text, WORDS)
    assert words in str(caught.value)
    assert caught.value.exit_code == 2
    if len(text) <= expressions.MAX_TEXT:
        assert "at position " in caught.value.message


def test_the_caret_stands_below_the_mistake() -> None:
    with pytest.raises(UsageError) as caught:
        compile_expression("'é' == status and tokns > 1", WORDS)
    _, shown, caret = caught.value.message.splitlines()
    assert shown[caret.index("^") :].startswith("tokns")


def test_an_unknown_name_lists_every_name() -> None:
    with pytest.raises(UsageError) as caught:
        compile_expression("nothing_like_it", WORDS)
    for name in [word.name for word in WORDS] + list(FUNCTIONS):
        assert name in caught.value.cause


def test_what_stands_in_brackets_is_handed_on_as_it_is() -> None:
    asked: list[Any] = []

    class Scope(Data):
        def call(self, name: str, argument: str, *more: Any) -> Any:
            asked.append((name, argument, *more))
            return True

    compile_expression("before(a, 'b c', d) and asks('text', 'more', 0.5) and asks('x')", WORDS).evaluate(Scope())
    assert asked == [("before", "a", "b c", "d"), ("asks", "text", "more", 0.5), ("asks", "x")]


def test_a_schema_in_a_file_is_the_one_that_was_given() -> None:
    expression = compile_expression("conforms(status, '@s.json')", WORDS, {"@s.json": {"maxLength": 6}})
    assert expression.holds(Data()) is True and expression.holds(Data(status="interrupted")) is False


def test_what_matching_costs_is_counted() -> None:
    expression = compile_expression("all(not matches(a, '(?:a|b)*a(?:a|b){900}c') for a in args)", WORDS)
    with pytest.raises(UsageError, match="units of work"):
        expression.evaluate(Data(args=["".join(Random(1).choices("ab", k=5_000))]))


def test_bare_names_in_a_call_are_names_not_values() -> None:
    data = Data()
    compile_expression("calls(status)", WORDS).evaluate(data)
    assert data.asked == ["calls:status"]


def test_a_decided_condition_reads_no_further() -> None:
    data = Data()
    assert compile_expression("status == 'ok' and calls(search_docs) > 3", WORDS).holds(data) is False
    assert data.asked == ["status"]


def test_work_is_counted() -> None:
    expression = compile_expression("any(a + 1 == -1 for a in args)", WORDS)
    with pytest.raises(UsageError, match="units of work"):
        expression.evaluate(Data(args=list(range(400_000))))


def test_large_results_are_unknown_not_built() -> None:
    big = "x" * 600_000
    assert value("status + status", status=big) is None
    assert value(" * ".join(["tokens"] * 50), tokens=2**100) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)

OPERATORS = ("+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=", "in", "not in", "and", "or")

LEAVES = st.sampled_from(
    [
        "status",
        "tokens",
        "cost",
        "args",
        "result",
        "calls(search_docs)",
        "args('x')",
        "1",
        "-2.5",
        "'a'",
        "None",
        "True",
    ]
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        st.tuples(st.sampled_from(FUNCTIONS), inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        st.tuples(st.sampled_from(FUNCTIONS), LEAVES, inner).map(lambda p: f"{p[0]}(x == {p[1]} for x in {p[2]})"),
        st.tuples(inner, inner).map(lambda parts: f"{parts[0]}[{parts[1]}]"),
        inner.map(lambda part: f"(not {part})"),
        inner.map(lambda part: f"(-{part})"),
    ),
    max_leaves=6,
)


def compiled(text: str) -> expressions.Expression:
    """A generated sentence, compiled.

    What is refused by design is not what is tested: a loop inside its own list, a number compared with a text."""
    try:
        return compile_expression(text, WORDS)
    except UsageError as error:
        assume("cannot be the name of a loop" not in error.message)
        assume(not re.search("is a (number|text), and this is a (number|text)", error.message))
        raise


@given(text=TREES, args=JSON, result=JSON)
def test_every_sentence_of_the_grammar_evaluates(text: str, args: Any, result: Any) -> None:
    compiled(text).holds(Data(args=args, result=result))


PIECES = st.sampled_from(
    [
        *"()[]{}.,:=+-*/%@~^|&<>#01'\"\\\n\t\x00é�",
        "status",
        "args",
        "result",
        "calls",
        "__class__",
        "__globals__",
        "lambda",
        "for",
        "in",
        "if",
        "else",
        "not",
        "and",
        "or",
        "==",
        "**",
        ":=",
        "await",
        "yield",
        "import",
        "1e999",
        "0x10",
        "None",
        "True",
        "f'",
        "b'",
    ]
)


@settings(max_examples=settings().max_examples * 6)
@given(text=st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=20).map(" ".join)), args=JSON)
@example(text="status.__class__", args=None)
def test_any_text_is_a_value_or_a_usage_error(text: str, args: Any) -> None:
    try:
        expression = compile_expression(text, WORDS)
    except UsageError:
        return
    assert not any(isinstance(node, ast.Attribute) for node in ast.walk(expression.root))
    expression.evaluate(Data(args=args))


class Guarded(dict[str, Any]):
    """Data that fail the test when anything looks at an underscored attribute beyond what ``isinstance`` needs."""

    def __getattribute__(self, name: str) -> Any:
        assert not name.startswith("_") or name == "__class__", f"touched {name}"
        return super().__getattribute__(name)


@given(text=TREES)
def test_no_attribute_of_the_data_is_touched(text: str) -> None:
    compiled(text).holds(Data(args=Guarded(query="x"), result=Guarded()))
