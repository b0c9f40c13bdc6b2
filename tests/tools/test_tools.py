"""A decorated function is answered from the recording: values, errors, streams, in every sort and colour."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest
from langchain_core.tools import tool as langchain_tool

from reenact.errors import Divergence, UnreplayableRun, UsageError
from reenact.facts.call import Effect, EndKind, Failure, Kind, Value
from reenact.facts.values import decode, jsonable
from reenact.seams import lanes
from reenact.seams.async_backends import cancels_by
from reenact.seams.models import model, retriever
from reenact.seams.tools import tool
from reenact.testing.frozen_time import OpenSchedule
from tests.tools.fakes import Tape
from tests.values import hostile


class Refused(Exception):
    def __init__(self, *, code: int) -> None:
        super().__init__(f"refused with {code}")
        self.code = code


@dataclass
class Order:
    id: int
    lines: list[str]


class Answer(pydantic.BaseModel):
    text: str
    order: Order | None = None


class Deeds:
    """Counts what was really done."""

    def __init__(self) -> None:
        self.done: list[Any] = []


WORLD = Deeds()


def did(what: Any) -> None:
    """Act. (A tool that named ``WORLD`` itself would have its change to it recorded and made again.)"""
    WORLD.done.append(what)


def so_far() -> int:
    """How much has been done."""
    return len(WORLD.done)


@pytest.fixture(autouse=True)
def fresh_world() -> None:
    WORLD.done = []


def both(agent: Callable[[], Any], expect_faults: bool = False) -> tuple[Any, Any, Tape]:
    """Run an agent recorded and then replayed; the world is touched by the first alone."""

    def run(playing: bool) -> Any:
        with tape.listening(playing=playing):
            made = agent()
            return asyncio.run(in_lane(made)) if inspect.iscoroutine(made) else made

    async def in_lane(made: Any) -> Any:
        with lanes.inside(lanes.Lane("task", tape, OpenSchedule().gate)):
            return await made

    tape = Tape()
    first = run(False)
    done = list(WORLD.done)
    second = run(True)
    assert done == WORLD.done, "a replayed tool touched the world"
    assert expect_faults or tape.faults == []
    assert not any(kept.parent is None for left in tape.left.values() for kept in left), "a recorded call was not made"
    return first, second, tape


@tool
def plain(a: int, b: str = "x", *rest: int, flag: bool = False, **more: Any) -> dict[str, Any]:
    """Adds."""
    did((a, b, rest, flag, more))
    return {"a": a, "t": (1, {2}), "b": b.encode(), "n": so_far()}


@tool(effect="read", name="orders")
def find(number: int) -> list[Order]:
    did(number)
    return [Order(number, ["a"])]


@tool
async def fetch(number: int) -> Answer:
    await asyncio.sleep(0)
    did(number)
    return Answer(text="t", order=Order(number, []))


@tool
def failing(code: int) -> None:
    did(code)
    try:
        dict[str, int]()["k"]
    except KeyError as error:
        refused = Refused(code=code)
        refused.add_note("a note")
        raise refused from error


@tool
async def failing_async(code: int) -> None:
    failing.__wrapped__(code)  # type: ignore[attr-defined]


class Toolbox:
    def __init__(self) -> None:
        self.lock = object()

    @tool
    def method(self, x: int) -> int:
        did(x)
        return x + so_far()

    @tool
    @staticmethod
    def static(x: int) -> int:
        did(x)
        return x + so_far()

    @staticmethod
    @tool
    def static_inside(x: int) -> int:
        did(x)
        return x

    @tool
    @classmethod
    def of_class(cls, x: int) -> str:
        did(x)
        return cls.__name__


def test_a_value_comes_back_and_the_call_says_what_it_was() -> None:
    first, second, tape = both(lambda: [plain(1), plain(1, "y", 3, 4, flag=True, z=2.5)])
    assert first == second and second[0]["n"] == 1
    call = tape.kept[1].call
    assert (call.kind, call.name, call.effect, call.rule, call.observed) == (
        Kind.TOOL,
        "plain",
        Effect.WRITE,
        "tool/1",
        False,
    )
    assert jsonable(call.body) == {"a": 1, "b": "y", "rest": [3, 4], "flag": True, "more": {"z": 2.5}}
    assert jsonable(tape.kept[0].call.body) == {"a": 1, "b": "x", "rest": [], "flag": False, "more": {}}
    assert call.source is not None and "test_tools.py:" in call.source


def test_records_come_back_through_the_declared_return_type() -> None:
    first, second, tape = both(lambda: find(number=7))
    assert first == second and type(second[0]) is Order and tape.kept[0].call.name == "orders"

    assert tape.kept[0].call.effect is Effect.READ


def test_coroutines() -> None:
    async def agent() -> Any:
        return [await fetch(1), await fetch(number=2)]

    first, second, _ = both(agent)
    assert first == second and type(second[0]) is Answer and type(second[0].order) is Order


def caught(act: Callable[[], Any]) -> BaseException:
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def test_errors_come_back_as_they_were() -> None:
    first, second, tape = both(lambda: caught(lambda: failing(3)))
    assert isinstance(tape.kept[0].outcome, Failure)
    for error in (first, second):
        assert type(error) is Refused and error.code == 3 and error.args == ("refused with 3",)
        assert error.__notes__ == ["a note"] and type(error.__cause__) is KeyError and error.__suppress_context__

    async def agent() -> Any:
        try:
            await failing_async(4)
        except Refused as error:
            return error

    first, second, _ = both(agent)
    assert type(second) is Refused and second.code == 4 and type(second.__cause__) is KeyError


def test_the_context_of_an_error_is_the_recorded_one_wherever_it_is_raised() -> None:
    @tool
    def nested() -> None:
        try:
            raise KeyError("inner")
        except KeyError:
            raise LookupError("outer")

    def agent() -> Any:
        try:
            raise OSError("handled by the agent")
        except OSError:
            return caught(nested)

    first, second, _ = both(agent)
    assert [type(first.__context__), type(second.__context__)] == [KeyError, KeyError]
    assert type(second.__context__.__context__) is OSError


def test_methods_static_methods_and_class_methods() -> None:
    def agent() -> Any:
        desk = Toolbox()
        return [
            desk.method(1),
            Toolbox.static(2),
            desk.static(3),
            Toolbox.static_inside(4),
            Toolbox.of_class(5),
            desk.of_class(6),
        ]

    first, second, tape = both(agent)
    assert (
        first == second
        and jsonable(tape.kept[0].call.body) == {"x": 1}
        and tape.kept[0].call.head.get("opaque") is None
    )


def test_the_calls_a_tool_makes_lie_inside_it() -> None:
    @tool
    def outer(x: int) -> int:
        number: int = plain(x)["n"]
        return number + find(x)[0].id

    first, second, tape = both(lambda: (outer(5), plain(6)["n"]))
    assert first == second == (6, 3)
    assert [(kept.call.name, kept.parent) for kept in tape.kept] == [
        ("outer", None),
        ("plain", 0),
        ("orders", 0),
        ("plain", None),
    ]
    tape.through.add("outer")
    with tape.listening(playing=True):
        assert (outer(5), plain(6)["n"]) == first
    assert [kept.call.name for kept, _ in tape.rerun] == ["outer"]
    assert tape.rerun[0][1].body == tape.rerun[0][0].outcome.body  # type: ignore[union-attr]


def test_a_tool_without_effect_always_runs() -> None:
    ran = []

    @tool(effect="none")
    def pure(x: set[str]) -> set[str]:
        ran.append(x)
        return x

    first, second, tape = both(lambda: pure({"a", "b", "c"}))
    assert first == second and len(ran) == 2 and tape.kept[0].call.observed
    assert tape.rerun[0][1] == tape.kept[0].outcome


def test_usage_errors() -> None:
    with pytest.raises(UsageError, match="no effect 'destroy'"):
        tool(effect="destroy")
    with pytest.raises(UsageError, match="no parameter"):
        tool(key="nope")(find)
    with pytest.raises(UsageError, match="takes a function"):
        tool(3)  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="takes a function"):
        tool(langchain_tool(plain.__wrapped__))  # type: ignore[call-overload, attr-defined]


def test_the_key_of_the_effect_and_the_ordinal_of_the_provider() -> None:
    @tool(key="order")
    def pay(order: int, tool_call_id: str = "") -> None: ...

    @tool(key=lambda order: ("pay", order))
    def pay_again(order: int) -> None: ...

    _, _, tape = both(lambda: (pay(7, tool_call_id="call_1"), pay_again(8)))
    assert [kept.call.head["key"] for kept in tape.kept] == ["7", '{"~tuple":["pay",8]}']
    assert [kept.call.ordinal for kept in tape.kept] == ["call_1", None]


def test_an_undeclared_record_is_noted_when_recorded_and_refused_when_replayed() -> None:
    @tool
    def undeclared():  # type: ignore[no-untyped-def]
        return Order(1, [])

    tape = Tape()
    with tape.listening():
        undeclared()  # type: ignore[no-untyped-call]
    assert tape.kept[0].outcome.head["undeclared"] == [f"{__name__}.Order"]  # type: ignore[union-attr]
    with tape.listening(playing=True), pytest.raises(UnreplayableRun, match="Order"):
        undeclared()  # type: ignore[no-untyped-call]
    assert isinstance(tape.faults[0], UnreplayableRun)


def test_what_was_handed_in_and_back_stays_the_same_object() -> None:
    @tool
    def extend(state: dict[str, Any]) -> dict[str, Any]:
        state["n"] = state.get("n", 0) + 1
        return state

    def agent() -> Any:
        state: dict[str, Any] = {}
        return extend(state) is state, state

    first, second, _ = both(agent)
    assert first == second == (True, {"n": 1})


def test_local_annotations_that_exist_for_type_checkers_only_do_no_harm() -> None:
    @tool
    def odd(x: Missing) -> list[Order]:  # type: ignore[name-defined]  # noqa: F821
        return [Order(x, [])]

    first, second, _ = both(lambda: odd(1))
    assert first == second


# --- generators ------------------------------------------------------------------------------------------------------


@tool
def count(upto: int) -> Iterator[Order]:
    for n in range(upto):
        did(n)
        yield Order(n, [])
    if upto > 3:
        raise Refused(code=upto)
    return (upto,)  # type: ignore[return-value]


@tool
async def count_async(upto: int) -> AsyncIterator[tuple[int, bytes]]:
    for n in range(upto):
        await asyncio.sleep(0)
        did(n)
        yield n, b"x"
    if upto > 3:
        raise Refused(code=upto)


@tool
def talk() -> Iterator[Any]:
    told = yield "ready"
    while told != "stop":
        try:
            did(told)
            told = yield {"told": told}
        except KeyError as error:
            told = yield f"caught {error}"


def drain(generator: Any) -> Any:
    items = []
    while True:
        try:
            items.append(next(generator))
        except StopIteration as stop:
            return items, stop.value
        except Exception as error:
            return items, type(error), error.args


def test_a_generator_comes_back_with_its_items_return_value_and_error() -> None:
    first, second, tape = both(lambda: [drain(count(2)), drain(count(4)), drain(count(0))])
    assert first == second and second[0] == ([Order(0, []), Order(1, [])], (2,))
    assert second[1][1:] == (Refused, ("refused with 4",)) and second[2] == ([], (0,))
    assert [kept.end.kind for kept in tape.kept if kept.end] == [EndKind.EOF, EndKind.ERROR, EndKind.EOF]


def test_an_asynchronous_generator_likewise() -> None:
    async def agent() -> Any:
        items: list[Any] = [item async for item in count_async(2)]
        try:
            async for item in count_async(4):
                items.append(item)
        except Refused as error:
            items.append(error.code)
        return items

    first, second, tape = both(agent)
    assert first == second and second[-1] == 4 and second[0] == (0, b"x")
    assert [kept.end.kind for kept in tape.kept if kept.end] == [EndKind.EOF, EndKind.ERROR]


def test_a_generator_closed_early_gives_as_much_and_is_closed() -> None:
    closed = []

    @tool
    def endless() -> Generator[int, None, None]:
        try:
            while True:
                did(1)
                yield so_far()
        finally:
            closed.append(lanes.current().path)  # type: ignore[union-attr]

    def agent() -> Any:
        stream = endless()
        items = [next(stream), next(stream)]
        stream.close()
        return items

    first, second, tape = both(agent)
    assert first == second == [1, 2] and closed == ["root>endless#1"]
    assert tape.kept[0].end.kind is EndKind.CLOSED and len(tape.kept[0].segments) == 2  # type: ignore[union-attr]


def test_an_asynchronous_generator_closed_early() -> None:
    async def agent() -> Any:
        stream = count_async(3)
        async for item in stream:
            await stream.aclose()  # type: ignore[attr-defined]
            return item
        return None

    first, second, tape = both(agent)
    assert first == second == (0, b"x") and tape.kept[0].end.kind is EndKind.CLOSED  # type: ignore[union-attr]


def test_what_is_sent_and_thrown_in_is_kept_and_checked() -> None:
    def agent(word: str = "hello") -> Any:
        stream = talk()
        return [next(stream), stream.send(word), stream.throw(KeyError("k")), stream.send("more")]  # type: ignore[attr-defined]

    first, second, tape = both(agent)
    assert first == second == ["ready", {"told": "hello"}, "caught 'k'", {"told": "more"}]
    assert [next(iter(json.loads(part))) for part in tape.kept[0].segments] == [
        "yield",
        "sent",
        "yield",
        "thrown",
        "yield",
        "sent",
        "yield",
    ]
    with tape.listening(playing=True), pytest.raises(Divergence, match="something else"):
        agent("another word")
    (kept,) = tape.faults
    assert isinstance(kept, Divergence) and kept.next_command == "reenact replay @ --through talk"


def test_a_generators_body_is_inside_its_call_and_its_consumer_is_not() -> None:
    seen = []

    @tool
    def watched() -> Iterator[int]:
        for n in range(2):
            seen.append(("inside", lanes.current().path))  # type: ignore[union-attr]
            plain(n)
            yield n

    def agent() -> Any:
        for _ in watched():
            seen.append(("outside", lanes.current().path))  # type: ignore[union-attr]
            find(1)

    _, _, tape = both(agent)
    assert seen[:4] == [("inside", "root>watched#1"), ("outside", "root")] * 2
    assert [(kept.call.name, kept.parent) for kept in tape.kept] == [
        ("watched", None),
        ("plain", 0),
        ("orders", None),
        ("plain", 0),
        ("orders", None),
    ]


def test_a_generator_without_effect_runs_again_and_is_compared() -> None:
    @tool(effect="none")
    def pure(n: int) -> Iterator[int]:
        yield from range(n)

    first, second, tape = both(lambda: list(pure(3)))
    assert first == second == [0, 1, 2] and tape.rerun[0][1] == tape.kept[0].outcome


# --- models and retrievers -------------------------------------------------------------------------------------------


def test_models_in_the_process() -> None:
    @model(name="tiny-llm")
    def ask(prompt: str) -> str:
        did(prompt)
        return prompt.upper()

    @model
    async def stream(prompt: str) -> AsyncIterator[str]:
        for word in prompt.split():
            did(word)
            yield word

    async def agent() -> Any:
        return ask("a b"), [word async for word in stream("c d")]

    first, second, tape = both(agent)
    assert first == second == ("A B", ["c", "d"])
    assert [(kept.call.kind, kept.call.name, kept.call.effect) for kept in tape.kept] == [
        (Kind.MODEL, "tiny-llm", Effect.READ),
        (Kind.MODEL, "stream", Effect.READ),
    ]


class Chunk:
    def __init__(self) -> None:
        self.text = "not a record"


def documents() -> list[Any]:
    from langchain_core.documents import Document

    return [
        Document(page_content="one", id="d1", metadata={"source": "a.md"}),
        Document(page_content="two", metadata={"id": 2}),
    ]


SHAPES: dict[str, tuple[Any, Any]] = {
    "dictionaries": ([{"id": 1, "score": 0.5, "text": "t"}], [{"id": 1, "score": 0.5, "content": "t"}]),
    "strings": (["a", "b"], [{"content": "a"}, {"content": "b"}]),
    "pairs": ([({"id": "x", "content": "c"}, 0.25)], [{"id": "x", "score": 0.25, "content": "c"}]),
    "pairs, score first": ([(0.25, {"id": "x"})], [{"id": "x", "score": 0.25}]),
    "inside a dictionary": ({"results": [{"doc_id": 3, "body": "b"}]}, [{"id": 3, "content": "b"}]),
    "a hit around its document": (
        [{"score": 1, "node": {"node_id": "n", "text": "t"}}],
        [{"id": "n", "score": 1, "content": "t"}],
    ),
    "nothing found": ([], []),
    "numbers": ([1, 2], None),
    "none": (None, None),
    "hostile": ([hostile.BadEverything()], None),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_retrievers_chunks_are_read(name: str) -> None:
    result, expected = SHAPES[name]

    @retriever(embedding_model="embed-3")
    def search(query: str) -> Any:
        return result

    tape = Tape()
    with tape.listening():
        assert search("q") is result
    kept = tape.kept[0]
    assert kept.call.kind is Kind.RETRIEVAL and kept.call.head["embedding_model"] == "embed-3"
    assert isinstance(kept.outcome, Value) and kept.outcome.head.get("chunks") == expected and tape.faults == []


def test_documents_of_langchain_come_back_as_documents() -> None:
    from langchain_core.documents import Document

    @retriever
    def search(query: str) -> list[Document]:
        did(query)
        return documents()

    @retriever
    def scored(query: str) -> list[tuple[Document, float]]:
        return [(document, 0.5) for document in documents()]

    first, second, tape = both(lambda: (search("q"), scored("q")))
    assert first == second and type(second[0][0]) is Document
    assert tape.kept[0].outcome.head["chunks"] == [  # type: ignore[union-attr]
        {"id": "d1", "content": "one", "source": "a.md"},
        {"id": 2, "content": "two"},
    ]
    assert tape.kept[1].outcome.head["chunks"][0]["score"] == 0.5  # type: ignore[union-attr]


# --- harmless --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in hostile.NAMES if name not in ("deep", "deep and plain", "doubling")])
def test_hostile_things_pass_through_untouched(name: str) -> None:
    thing = hostile.objects()[name]

    @tool
    def echo(value: Any, *more: Any, **named: Any) -> Any:
        return named["again"]

    @tool
    async def echo_async(value: Any) -> Any:
        return value

    @tool
    def stream(value: Any) -> Iterator[Any]:
        yield value

    async def agent() -> Any:
        return await echo_async(thing)

    tape = Tape()
    with tape.listening():
        if name == "bad error":  # an exception has its own text, and this one's is a bomb
            return
        assert echo(thing, thing, again=thing) is thing
        assert next(stream(thing)) is thing
    assert tape.faults == [] and tape.kept[0].outcome is not None


def test_a_call_that_does_not_fit_raises_what_it_raised() -> None:
    first, second, _ = both(lambda: (str(caught(plain)), str(caught(lambda: find(1, 2)))))  # type: ignore[call-arg, arg-type]
    assert first == second and "missing 1 required" in first[0]


def test_a_fault_of_the_recorder_lets_the_call_through(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = Tape()
    with tape.listening():
        for name in ("encode", "encode_flat"):
            monkeypatch.setattr(f"reenact.seams.functions.{name}", lambda *a, **k: 1 / 0)
        assert plain(1)["a"] == 1
        assert drain(count(2))[0] == [Order(0, []), Order(1, [])]
    assert {type(fault) for fault in tape.faults} == {ZeroDivisionError} and tape.kept == []


def test_a_fault_while_sealing_costs_only_the_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = Tape()
    with tape.listening():
        monkeypatch.setattr("reenact.seams.functions.compare", lambda *a: 1 / 0)
        assert find(1) == [Order(1, ["a"])]

        @tool
        def change(state: list[int]) -> int:
            state.append(1)
            return 5

        assert change([]) == 5
    assert [kept.outcome is None for kept in tape.kept] == [False, True] and len(tape.faults) == 1


def test_a_cancelled_call_stays_open_and_an_interrupted_one_ends_so() -> None:
    @tool
    async def slow() -> None:
        await asyncio.sleep(30)

    @tool
    def interrupted() -> None:
        raise KeyboardInterrupt

    cancels_by(asyncio.CancelledError)  # the seam of asyncio says so in a process that records
    tape = Tape()

    async def agent() -> None:
        with lanes.inside(lanes.Lane("task", tape, OpenSchedule().gate)):
            async with asyncio.timeout(0.01):
                await slow()

    with tape.listening():
        with pytest.raises(TimeoutError):
            asyncio.run(agent())
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    cancelled, stopped = tape.kept
    assert cancelled.end is not None and cancelled.end.kind is EndKind.CANCELLED
    assert isinstance(stopped.outcome, Failure) and stopped.outcome.error.type.endswith("KeyboardInterrupt")


# --- looks like the function -----------------------------------------------------------------------------------------


def test_frameworks_see_the_function_they_were_given() -> None:
    assert (
        inspect.iscoroutinefunction(fetch)
        and inspect.isgeneratorfunction(count)
        and inspect.isasyncgenfunction(count_async)
    )
    assert str(inspect.signature(plain)) == str(inspect.signature(plain.__wrapped__))  # type: ignore[attr-defined]
    assert plain.__name__ == "plain" and plain.__doc__ == "Adds."
    made = langchain_tool(tool(search_docs))
    assert (
        made.name == "search_docs" and set(made.args) == {"query", "k"} and made.invoke({"query": "q", "k": 2}) == "q2"
    )
    validated = pydantic.validate_call(tool(search_docs))
    assert validated("q", "3") == "q3"  # type: ignore[arg-type]
    assert tool(functools.partial(search_docs, k=9))("q") == "q9"


def search_docs(query: str, k: int = 5) -> str:
    """Search the docs."""
    return f"{query}{k}"


def test_nothing_is_kept_while_nobody_listens_or_below_a_transport() -> None:
    tape = Tape()
    with tape.listening(), lanes.inside(lanes.Lane("below", tape, OpenSchedule().gate, below=True)):
        assert plain(1)["a"] == 1 and drain(count(1))[0]
    assert tape.kept == [] and plain(1)["a"] == 1
    assert decode(b"1") == 1
