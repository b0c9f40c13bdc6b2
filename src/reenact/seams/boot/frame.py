"""The frame of ours on which a program stands, as a traceback names it."""

from __future__ import annotations

import os
from typing import Final

FRAME: Final = os.path.join("reenact", "seams", "boot", "program.py")
"""How the file is called that a program sees below its own frames, wherever it lies."""
