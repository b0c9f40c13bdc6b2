"""``reenact config``: shows each setting, its value and the origin of the value."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import click

from reenact.abc.project_settings import OWN_FILE, load_settings
from reenact.facts.settings import SETTINGS, SWITCHES, Settings, SettingValue, strangers
from reenact.interfaces.cli.shell import Command, Shell, current, paint
from reenact.timetravel.preview import safe


@click.command(
    cls=Command, name="config", short_help="each setting, its value and its origin", example="reenact config"
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show each setting with its value and where it came from.

    Later sources win: the default, [tool.reenact] in pyproject.toml, reenact.toml, REENACT_NAME
    in the environment, an option of the command line.

    A wrong key or value is named with its file; correct it there. An empty variable sets nothing.
    """
    shell = current(ctx)
    settings = dict(load_settings())
    if shell.store_url is not None:
        settings["store"] = SettingValue(shell.store_url, "command line")
    if shell.json:
        for setting in SETTINGS:
            chosen = settings[setting.name]
            shell.line(
                {"setting": setting.name, "value": chosen.value, "origin": chosen.origin, "about": setting.about}
            )
    else:
        shell.lines(_lines(settings))
    _warn(shell)
    shell.next("reenact record --help" if os.path.exists(OWN_FILE) else "reenact init")


def _lines(settings: Settings) -> Iterator[str]:
    values = {name: safe(json.dumps(chosen.value, ensure_ascii=False)) for name, chosen in settings.items()}
    width = max(len(name) for name in settings)
    room = max(len(value) for value in values.values())
    for setting in SETTINGS:
        origin = settings[setting.name].origin
        text = f"{setting.name:<{width}}  {values[setting.name]:<{room}}  {origin}"
        yield text if origin == "default" else paint(text, bold=True)
    for name, about in SWITCHES.items():
        if os.environ.get(name):
            yield f"{name}={safe(os.environ[name])}  ({about})"


def _warn(shell: Shell) -> None:
    for name, near in strangers(os.environ):
        shell.talk(f"note: {name} in the environment sets nothing" + (f"; did you mean {near}?" if near else ""))
