"""Proves that pydantic's exception for what does not fit comes back as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from reenact.facts.values import decode, encode
from reenact.seams.mcp import parse_errors


class Model(BaseModel):
    """Something to be validated."""

    number: int
    words: list[str]

    @field_validator("number")
    @classmethod
    def check(cls, value: int) -> int:
        """Refuse in the two ways of one's own."""
        if value == 1:
            raise ValueError("one {is} no number")
        if value == 2:
            raise PydanticCustomError("own", "own {what} thing", {"what": 3})
        return value


@pytest.mark.parametrize(
    "validate",
    [
        lambda: Model.model_validate({"number": "x", "words": 3}),
        lambda: Model.model_validate({"number": 1, "words": 3}),
        lambda: Model.model_validate({"number": 2, "words": ["x"]}),
        lambda: Model.model_validate_json('{"number": []}'),
        lambda: Model.model_validate_json("[]"),
        lambda: Model.model_validate_json("no json"),
    ],
)
def test_it_comes_back(validate: Callable[[], Any]) -> None:
    parse_errors.install()
    with pytest.raises(ValidationError) as raised:
        validate()
    made = decode(encode({"error": raised.value}).body)["error"]
    assert type(made) is ValidationError
    assert str(made) == str(raised.value)
    assert repr(made.errors()) == repr(raised.value.errors())
