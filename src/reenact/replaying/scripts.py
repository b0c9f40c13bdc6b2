"""Console scripts of this project: commands that its own packages have put beside the interpreter."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec


def own_script(program: str, inside: Callable[[str], bool]) -> str | None:
    """The path of a console script beside our interpreter, if what it calls is code of this project.

    Nothing is imported: where the script's package lies is looked up.

    Args:
        program: What was recorded as the program: a name, or a path on the recorder's machine.
        inside: Whether a file is code of this project.

    Returns:
        Its path; None where there is none, or it calls code that was installed.
    """
    from importlib.metadata import entry_points  # late: it loads a parser of e-mail, and most programs are no script

    name = os.path.basename(program).removesuffix(".exe")
    folder = os.path.dirname(sys.executable)
    found = list(entry_points(group="console_scripts", name=name))
    if not found or not all(_lies(each.module.partition(".")[0], inside) for each in found):
        return None
    paths = (os.path.join(folder, name + end) for end in ("", ".exe"))
    return next((path for path in paths if os.path.isfile(path)), None)


def _lies(package: str, inside: Callable[[str], bool]) -> bool:
    """Whether a top-level package or module lies where ``inside`` says. Looking for one of those imports nothing."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and inside(spec.origin)
