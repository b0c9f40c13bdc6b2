"""The settings of a project: from its files and the environment, read once.

``reenact.toml`` and ``pyproject.toml`` are searched from the working directory upwards; the nearest directory that has
either is the project.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.settings import Layer, Settings, environment_layer, resolve

OWN_FILE = "reenact.toml"
PROJECT_FILE = "pyproject.toml"


def load_settings(
    directory: str | os.PathLike[str] | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Every setting in force in a directory.

    Args:
        directory: The directory where the search begins; None for the working directory.
        environ: The environment; None for the process's.

    Raises:
        UsageError: A file that is no TOML, an unknown key, a value of another type.
    """
    layers = file_layers(Path(directory) if directory is not None else Path.cwd())
    return resolve([*layers, environment_layer(os.environ if environ is None else environ)])


def project_directory(start: Path) -> Path | None:
    """The nearest directory upwards that holds a settings file or a ``pyproject.toml``."""
    for each in chain((start,), start.parents):
        if any(os.path.isfile(os.path.join(each, name)) for name in (OWN_FILE, PROJECT_FILE)):
            return each
    return None


def file_layers(start: Path) -> list[Layer]:
    """The settings in the project's files, ``pyproject.toml`` first."""
    project = project_directory(start)
    if project is None:
        return []
    layers = []
    tool = _read(project / PROJECT_FILE).get("tool", {})
    own = tool.get("reenact", {}) if isinstance(tool, Mapping) else {}
    if own:
        layers.append(Layer(f"{PROJECT_FILE} [tool.reenact]", _table(own, PROJECT_FILE)))
    values = _read(project / OWN_FILE)
    if values:
        layers.append(Layer(OWN_FILE, values))
    return layers


def _table(value: Json, name: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise UsageError(
            f"{name}: tool.reenact is not a table",
            cause="settings stand below [tool.reenact]",
            next_command="reenact init",
        )
    return value


def _read(path: Path) -> Mapping[str, Json]:
    """A TOML file; empty where there is none."""
    try:
        with path.open("rb") as file:
            data = file.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(
            f"{path.name} cannot be read: {error.strerror}", cause="its permissions", next_command=f"ls -l {path}"
        ) from None
    import tomllib  # late: most recorded programs have no settings file

    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path.name} is not valid TOML: {error}",
            cause="a typing mistake in the file",
            next_command="reenact config --help",
        ) from None
