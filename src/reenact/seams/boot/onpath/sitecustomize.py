"""Python finds this module before the program's own ``sitecustomize``: it begins the session, then makes way for
that."""

import os
import sys


def _boot() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    place = os.environ.get("REENACT_BOOT", "")
    if not place:
        return
    try:
        from reenact.seams.boot.child import activate
    except Exception as error:  # another interpreter, where reenact is not installed
        _say(place, f"reenact cannot be imported by {sys.executable}: {error}")
        return
    activate(place, here)


def _say(place: str, text: str) -> None:
    """Tell the parent why nothing is recorded; a replay must not go on without its session."""
    told = True
    try:
        with open(os.path.join(place, "failed"), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        told = False
    try:
        with open(os.path.join(place, "mode"), encoding="utf-8") as file:
            mode = file.read()
    except OSError:
        mode = os.environ.get("REENACT_BOOT_MODE", "")
    if mode not in ("", "record"):
        if not told:
            sys.stderr.write(f"reenact: {text}\n")
            sys.stderr.flush()
        os._exit(3)


def _make_way() -> None:
    """Import the program's own ``sitecustomize`` in our place; without one, leave no trace of ours."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    sys.path_importer_cache.pop(here, None)
    del sys.modules["sitecustomize"]
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401


def _interrupted() -> None:
    """End like a program that was interrupted before its first line.

    If this module made way, and the program had no ``sitecustomize``, the interrupt would look to Python like a missing
    module: Python would pass over it, and run the program for real."""
    try:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        os._exit(130)


if __name__ == "sitecustomize":
    try:
        _boot()
    except KeyboardInterrupt:
        _interrupted()
    except Exception as error:
        _say(os.environ.get("REENACT_BOOT", ""), f"the session could not begin: {type(error).__name__}: {error}")
    _make_way()
