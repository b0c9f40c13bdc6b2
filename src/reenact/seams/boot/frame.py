"""Our frame that calls the program, as a traceback names it."""

from __future__ import annotations

import os
from typing import Final

FRAME: Final = os.path.join("reenact", "seams", "boot", "program.py")
"""The file name that a program sees below its own frames, wherever the file lies."""
