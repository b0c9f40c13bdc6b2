"""Files that a database in memory takes in: ``ATTACH`` and ``VACUUM INTO`` reach them, and no audit event tells.

SQLite asks an authorizer about both, with the file. Ours stands until the program sets its own, which takes its place:
a connection has one, and the class of it stays what the program knows.
"""

from __future__ import annotations

import os
from typing import Any, Final

from reenact.seams import contacts
from reenact.seams.contacts import in_memory
from reenact.seams.lanes import listening

_ATTACH: Final = 24
_GRANTED: Final = 0


def watch(connection: Any) -> None:
    """Tell of the files that a connection to a database in memory takes in, while there are listeners."""
    connection.set_authorizer(_judge)


def _judge(action: int, first: Any, *_: Any) -> int:
    """SQLite's authorizer: of a file that is given as a parameter it has no name."""
    if action == _ATTACH and listening() is not None and not (first is not None and in_memory(first)):
        contacts.database("sqlite3", os.path.basename(first) if first else "a file that it attaches")
    return _GRANTED
