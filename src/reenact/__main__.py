"""The command ``reenact``, which is ``python -m reenact`` too."""

import gc
import os
from importlib import import_module


def main() -> None:
    """Run the command line of this process. A shell that completes a command line is answered without loading a
    command."""
    completes = "_REENACT_COMPLETING" in os.environ
    gc.disable()  # loaded modules stay: a search of them for garbage takes a tenth of the start
    run = import_module(f"reenact.interfaces.{'completion.answer' if completes else 'cli.main'}").main
    gc.enable()
    run()


if __name__ == "__main__":
    main()
