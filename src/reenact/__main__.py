"""The command ``reenact``, which is ``python -m reenact`` too."""

import gc
import os
from importlib import import_module


def main() -> None:
    """Run the command line of this process; answer a shell that completes one without loading any command."""
    completes = "_REENACT_COMPLETING" in os.environ
    gc.disable()  # what is loaded stays: to look through it for garbage takes a tenth of a start
    run = import_module(f"reenact.interfaces.{'completion.answer' if completes else 'cli.main'}").main
    gc.enable()
    run()


if __name__ == "__main__":
    main()
