"""The command ``reenact``, which is ``python -m reenact`` too."""

import os
from importlib import import_module


def main() -> None:
    """Run the command line of this process; answer a shell that completes one without loading any command."""
    completes = "_REENACT_COMPLETING" in os.environ
    import_module(f"reenact.interfaces.{'completion.answer' if completes else 'cli.main'}").main()


if __name__ == "__main__":
    main()
