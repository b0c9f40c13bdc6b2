"""Names of the rules of suspicion, and the table of settings that chooses among them.

They are in a module of their own, because settings are read wherever a program is recorded, and the rules are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reenact.facts.call import Json

ON, OFF = "on", "off"

RULE_NAMES: Final = (
    *("failure", "repeat", "empty-repeat", "loop", "ignored-error", "foreign-id", "cut-off", "hour-limit"),
    *("other-model", "unsupported-answer"),
)
"""Every rule of this package, in the order in which marks on one event are listed."""


def chosen_rules(table: Mapping[str, Json]) -> dict[str, str]:
    """The table of settings, checked: name of a rule to ``on`` or ``off``, or name of a project's own rule to
    ``module:function``.

    Raises:
        ValueError: No rule has the name, or a function is not written so.
    """
    found = {}
    for name, value in table.items():
        text = (ON if value else OFF) if isinstance(value, bool) else value
        if not isinstance(text, str):
            raise ValueError(f"is wrong: {name} = {value!r} is neither on, off nor MODULE:FUNCTION")
        if text in (ON, OFF) and name not in RULE_NAMES:
            from difflib import get_close_matches  # imported late, because only a mistake needs it

            near = get_close_matches(name, RULE_NAMES, 1)
            raise ValueError(f"is wrong: {name} is no rule" + (f"; did you mean {near[0]}?" if near else ""))
        if text not in (ON, OFF) and (":" not in text or name in RULE_NAMES):
            raise ValueError(f"is wrong: {name} = {text!r}; a rule of your own has another name and MODULE:FUNCTION")
        found[name] = text
    return found
