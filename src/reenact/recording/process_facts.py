"""The cheap facts about a process at the beginning of a run: to get them, no other process is asked."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.conventions import is_traceparent
from reenact.facts.interruptions import let_through
from reenact.seams.machine import facts as machine_facts
from reenact.seams.process_setting import folder_now
from reenact.seams.stdout import facts as stream_facts
from reenact.seams.zone import system_zone

LOCALE: Final = ("LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_TIME", "LC_NUMERIC", "LC_MONETARY", "LANG", "PYTHONUTF8")
_FLAGS: Final = ("dev_mode", "isolated", "no_site", "optimize", "utf8_mode")


def process_facts(environment: Mapping[str, str] | None = None) -> dict[str, Json]:
    """Facts about this process that are known without another process. Takes about 0.1 ms.

    Args:
        environment: Its environment; ``os.environ`` by default.

    Returns:
        JSON-able facts: Python, platform, command line, folder, hash randomisation, time zone, locale, streams.
    """
    environment = os.environ if environment is None else environment
    return {
        "python": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "build": sys.version,
        "executable": sys.executable,
        "prefix": sys.prefix,
        "platform": sys.platform,
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "argv": list(getattr(sys, "orig_argv", sys.argv)),
        "cwd": folder_now(),
        "hash_randomisation": bool(sys.flags.hash_randomization),
        "flags": {name: getattr(sys.flags, name) for name in _FLAGS},
        "time_zone": {"TZ": environment.get("TZ"), "names": list(time.tzname), "link": system_zone() or None},
        "locale": {name: environment[name] for name in LOCALE if name in environment},
        "encoding": {"filesystem": sys.getfilesystemencoding(), "default": sys.getdefaultencoding()},
        "streams": stream_facts(),
        **machine_facts(),
        "cpus": os.cpu_count(),
    }


def traceparent(environment: Mapping[str, str]) -> str:
    """The W3C ``traceparent`` that the run continues: from the current OpenTelemetry span if the program has one, or
    else from the environment; empty without either. Never raises, and imports nothing. About 1 µs."""
    current = _current_span()
    if is_traceparent(current):
        return current
    inherited = environment.get("TRACEPARENT") or environment.get("traceparent") or ""
    return inherited if is_traceparent(inherited) else ""


def _current_span() -> str:
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return ""
    try:
        context = trace.get_current_span().get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
    except Exception as error:  # the program's own library may be in any state
        let_through(error)
        return ""
