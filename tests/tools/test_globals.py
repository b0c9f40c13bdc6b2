"""The globals that a function's code names are found as ``dis`` finds them, in every function of the library."""

from __future__ import annotations

import dis
import os
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.seams.function_variables import FunctionVariables, _global_names

NAMING = {"LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_NAME", "DELETE_GLOBAL"}
FILES = sorted(Path(os.__file__).parent.glob("[a-p]*.py"))


def named(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in NAMING:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from named(constant)


@pytest.mark.parametrize("part", range(4))
def test_every_file_of_the_standard_library(part: int) -> None:
    seen = 0
    for path in FILES[part::16]:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        found = list(_global_names(code))
        assert found == list(named(code)), path.name
        seen += len(found)
    assert seen > 500


def test_a_function_with_more_names_than_a_byte_counts() -> None:
    names = [f"name_{number}" for number in range(700)]
    space: dict[str, object] = {name: [name] for name in names}
    exec(f"def every():\n    global name_3\n    name_3 = ({', '.join(names)},)\n    del name_3", space)
    every: types.FunctionType = space["every"]  # type: ignore[assignment]
    assert [name for name, _ in FunctionVariables(every).variables()] == [f"global.{name}" for name in names]
