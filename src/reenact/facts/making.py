"""Making facts fast: the constructor of a frozen, slotted dataclass without what freezing costs.

A frozen dataclass sets each of its fields through ``object.__setattr__``, about 80 ns a field; an event with its call
and payloads has forty. A twin of the same slots that is not frozen sets them by itself, and then becomes what it was
made for. What comes out cannot be told from what the class's own constructor makes.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, cast

T = TypeVar("T")


def maker(cls: type[T]) -> type[T]:
    """A constructor of ``cls`` with the same parameters, about four times as fast. For hot paths only.

    Args:
        cls: A frozen, slotted dataclass that derives from nothing and does nothing of its own when it is made.

    Raises:
        TypeError: It is something else.
    """
    own = vars(cls)
    if cls.__bases__ != (object,) or "__slots__" not in own or "__post_init__" in own:
        raise TypeError(f"{cls.__name__} is no plain frozen dataclass with slots")

    def become(draft: Any) -> None:
        draft.__class__ = cls

    twin = dataclasses.make_dataclass(
        cls.__name__,
        [(field.name, field.type, _default_of(field)) for field in dataclasses.fields(cast(Any, cls))],
        namespace={"__post_init__": become, "__module__": cls.__module__},
        slots=True,
        eq=False,
        repr=False,
    )
    return cast(type[T], twin)


def _default_of(field: dataclasses.Field[Any]) -> Any:
    """The same default in a field of its own."""
    given: dict[str, Any] = {
        name: getattr(field, name)
        for name in ("default", "default_factory")
        if getattr(field, name) is not dataclasses.MISSING
    }
    return dataclasses.field(**given)
