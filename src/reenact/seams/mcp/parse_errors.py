"""Messages that do not parse: the exception that pydantic raises for them, as a value and back.

The agent's ``message_handler`` gets it. The class has no constructor, so the exception is made from the errors that it
lists.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from reenact.facts.values import Codec, register_codec

_MODES: Final = ("python", "json")


def install() -> None:
    """Teach the codec of values the class; imports nothing."""
    register_codec("pydantic_core._pydantic_core.ValidationError", Codec(_write, _read))


def _write(error: Any) -> dict[str, Any]:
    listed = [
        {name: part[name] for name in ("type", "loc", "msg", "input", "ctx") if name in part}
        for part in error.errors(include_url=False)
    ]
    return {"title": error.title, "errors": listed, "text": str(error)}


def _read(cls: type[Any], data: dict[str, Any]) -> Any:
    """The exception, made again. Its text shows the mode in which the input was validated."""
    made = [_made(cls, data, mode) for mode in _MODES]
    return next((each for each in made if str(each) == data["text"]), made[0])


def _made(cls: Any, data: dict[str, Any], mode: str) -> Any:
    listed = []
    for part in data["errors"]:
        details = {"type": _kind(part), "loc": tuple(part["loc"]), "input": part["input"]}
        listed.append({**details, "ctx": part["ctx"]} if "ctx" in part else details)
    return cls.from_exception_data(data["title"], listed, input_type=mode)


def _kind(part: dict[str, Any]) -> Any:
    """The sort of an error: its name where pydantic knows the sort, or else the text of the error."""
    core: Any = sys.modules["pydantic_core"]
    try:
        core.PydanticKnownError(part["type"], part.get("ctx") or {})
    except KeyError:
        return core.PydanticCustomError(part["type"], part["msg"], part.get("ctx"))
    return part["type"]
