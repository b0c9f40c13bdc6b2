"""Models inside the process and retrievers: requests of an agent that do not go over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from reenact.facts.call import Effect, Json, Kind
from reenact.seams.functions import Seam
from reenact.seams.retrieval import chunks
from reenact.seams.wrapping import decorate

F = TypeVar("F", bound=Callable[..., Any])
MODEL_RULE = "model/1"
RETRIEVAL_RULE = "retrieval/1"


@overload
def model(fn: F, *, name: str | None = ...) -> F: ...
@overload
def model(fn: None = None, *, name: str | None = ...) -> Callable[[F], F]: ...
def model(fn: Any = None, *, name: str | None = None) -> Any:
    """Make a function an in-process model: a local pipeline, a binding, anything not behind HTTP.

    Args:
        fn: The function that calls the model, of any sort; a streaming one is a generator.
        name: Name of the model; the function's name where not given.
    """

    def make(function: Callable[..., Any]) -> Seam:
        return Seam(function, kind=Kind.MODEL, effect=Effect.READ, rule=MODEL_RULE, name=name)

    return (lambda function: decorate(function, make)) if fn is None else decorate(fn, make)


@overload
def retriever(fn: F, *, embedding_model: str | None = ...) -> F: ...
@overload
def retriever(fn: None = None, *, embedding_model: str | None = ...) -> Callable[[F], F]: ...
def retriever(fn: Any = None, *, embedding_model: str | None = None) -> Any:
    """Make a function a retriever: beside its result, ids, scores and contents of the chunks are kept.

    Args:
        fn: The function that finds chunks: it returns dictionaries or documents, or pairs of one of these and a score.
        embedding_model: Which model made the vectors.
    """
    facts: Mapping[str, Json] = {"embedding_model": embedding_model} if embedding_model else {}

    def view(result: Any) -> Mapping[str, Json]:
        found = chunks(result)
        return {} if found is None else {"chunks": found}

    def make(function: Callable[..., Any]) -> Seam:
        return Seam(function, kind=Kind.RETRIEVAL, effect=Effect.READ, rule=RETRIEVAL_RULE, view=view, facts=facts)

    return (lambda function: decorate(function, make)) if fn is None else decorate(fn, make)
