"""The keys of today that a live call would carry, and whether anything of today names its host.

A recording names hosts (in variables, arguments, answers), but holds no keys: the keys are today's. So a key goes to a
host only if one of these names that host today: the environment, the command line, the user's options for the fork, or
the code that runs. A run that this user recorded here is trusted, except for its variables, which may be out of date.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import unquote, urlsplit

from reenact.errors import EffectRefused, ReplayError, UnreplayableRun
from reenact.facts.call import Call, Kind
from reenact.facts.credentials import COOKIES, HEADERS
from reenact.facts.dialects.hosts import provider_of
from reenact.facts.ids import tail
from reenact.facts.known_credentials import placeholder, token
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.run import Run
from reenact.facts.values import decode
from reenact.facts.variables import is_secret
from reenact.seams import trust
from reenact.timetravel.forks.code_names import named_in_code
from reenact.timetravel.forks.plan import Plan

__all__ = ["Destination", "Keys", "Names", "address_of", "keys_named_in", "keys_of", "said_by"]

_SHORTEST = 8
_LOOPBACK = lazy_regex(r"localhost|127(\.\d+){3}|::1|0\.0\.0\.0|.*\.localhost")
_BY_REGION = lazy_regex(r"bedrock-runtime\.[a-z0-9-]+\.amazonaws\.com|[a-z0-9-]+-aiplatform\.googleapis\.com")
"""Host names that a provider's client builds itself, each of one provider."""
_SCHEME = lazy_regex(r"(?i)(basic|digest)\s+")
_UNNAMED = "the credential in "
"""The text before the name of a header whose variable is not known."""
_OF_HOSTS = "A-Za-z0-9_.-"


@dataclass(frozen=True, slots=True)
class Destination:
    """A host to which calls of a plan would go.

    Attributes:
        host: The host, with its port where the address has one.
        keys: The variables whose values the recorded calls carried, or the header, where no variable is known.
        remark: The fault of the host today; empty without one.
    """

    host: str
    keys: tuple[str, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """The texts that name hosts today.

    Attributes:
        today: Texts of today: values of variables, words of the command line, the user's options.
        lent: The variables that come from the recording, by name.
        in_code: Whether the code that runs names a host, or host and port.
    """

    today: tuple[str, ...]
    lent: Mapping[str, str] = field(default_factory=dict)
    in_code: Callable[[str], bool] = lambda name: False

    def vouch(self, url: str) -> bool:
        """Whether something of today names the host of an address."""
        parts = urlsplit(url)
        name = _name_of(url)
        if any(_names(text, name) for text in self.today):
            return True
        if _is_loopback(url) and str(parts.port) in self.today:
            return True
        if parts.scheme in ("https", "wss") and _BY_REGION.fullmatch(parts.hostname or ""):
            return True
        return self.in_code(name)

    def lender(self, url: str) -> str:
        """The variable of the recording that names the host of an address; empty where none does."""
        name = _name_of(url)
        return next((each for each, text in self.lent.items() if _names(text, name)), "")


class Keys:
    """The keys of a fork.

    Args:
        run: The parent.
        today: The environment of today, without variables from the recording.
        names: The texts that name hosts.
        ours: Whether this user recorded the parent here.
    """

    def __init__(self, run: Run, today: Mapping[str, str], names: Names, *, ours: bool) -> None:
        same = run.capture.get("same_values") or {}
        secret = [str(name) for name in run.environment.get("env_secret") or ()]
        self._missing = {placeholder(same.get(name, name)): name for name in reversed(secret) if not today.get(name)}
        self._held = {name: text for name, text in today.items() if is_secret(name) and len(text) >= _SHORTEST}
        self._names = names
        self._ours = ours

    def refused(self, call: Call, run: Run, plan: Plan) -> ReplayError | None:
        """Why a live call is not sent; None where it may be sent."""
        goes = f"this {'run' if plan.resume else plan.noun} goes live"
        missing = self.missing(call)
        if missing:
            return UnreplayableRun(
                f"{missing} is not set, and {goes}: {call.name} would be sent with a placeholder",
                cause="a recording holds no key: live calls need the one in today's environment"
                + self._others(missing),
                next_command=f"export {missing}=…",
                missing=(missing,),
            )
        key = self.astray(call)
        if not key:
            return None
        url = address_of(call)
        lender = self._names.lender(url)
        by = f", in {lender}" if lender else ""
        return EffectRefused(
            f"{key} is not sent to {urlsplit(url).netloc}, and {goes}: only the recording of {tail(run.id)} names this "
            f"host{by} (for {call.name})",
            cause="a recording or a bundle may name any host: if this one is yours, let today's environment name it",
            next_command=self.remedy(url),
        )

    def missing(self, call: Call) -> str:
        """The variable for which a call has a placeholder; empty without one."""
        told = list(_texts(call))
        return next((name for text, name in self._missing.items() if any(text in each for each in told)), "")

    def astray(self, call: Call) -> str:
        """The key that a call would carry to a host that only the recording names; empty where it may be sent."""
        url = address_of(call)
        if not url:
            return ""
        carried = self._carried(call)
        if not carried or (self._ours and not self._names.lender(url)) or self._names.vouch(url):
            return ""
        return carried

    def remedy(self, url: str) -> str:
        """A command by which a user says that the host of an address is their own."""
        lender = self._names.lender(url)
        parts = urlsplit(url)
        return (
            f"export {lender or 'MODEL_BASE_URL'}={self._names.lent.get(lender) or f'{parts.scheme}://{parts.netloc}'}"
        )

    def remark(self, url: str, carries: Iterable[str]) -> str:
        """The problem today of calls to an address that carry these variables; empty where none is known."""
        named, unset = list(carries), list(self._missing.values())
        missing = [name for name in named if name in unset]
        if any(name.startswith(_UNNAMED) for name in named):  # the recording does not say which of them it is
            missing = unset
        if missing:
            are = "is" if len(missing) == 1 else "are"
            return f"{', '.join(missing)} {are} not set: a call that goes live stops there"
        if self._names.vouch(url) or (self._ours and not self._names.lender(url)):
            return ""
        return "only the recording names this host: no key goes there" + (
            "" if self._ours else ", unless the code of today names it too"
        )

    def _others(self, missing: str) -> str:
        """Words that name the other unset keys of the run, so that all are set at once."""
        others = [name for name in self._missing.values() if name != missing]
        return f"; {', '.join(others)} {'is' if len(others) == 1 else 'are'} not set either" if others else ""

    def _carried(self, call: Call) -> str:
        """The variable of the key that a call carries; keys of a connection are not known."""
        told = list(_texts(call))
        for name, value in self._held.items():
            if any(value in each for each in told):
                return name
        if call.kind in (Kind.MCP, Kind.WEBSOCKET):
            return next(iter(self._held), "")
        if self._ours:
            return ""
        headers = call.head.get("headers") or ()
        return next((f"{_UNNAMED}{name}" for name, value in headers if _is_credential(name, value)), "")


def keys_of(run: Run, today: Mapping[str, str], lent: Mapping[str, str], said: Iterable[str]) -> Keys:
    """The keys of a fork of a run.

    Args:
        run: The parent.
        today: The environment of today.
        lent: The variables that come from the recording; later entries count too.
        said: The texts of the user's options for the fork.
    """
    return Keys(run, today, Names((*today.values(), *said), lent, named_in_code), ours=trust.is_ours(run))


def said_by(plan: Plan) -> tuple[str, ...]:
    """The user's options for a fork, as texts."""
    given = (plan.results, plan.errors, plan.says, plan.state, plan.prompt, plan.params, plan.input, plan.flags)
    return tuple(json.dumps(each, ensure_ascii=False, default=str) for each in given if each)


def address_of(call: Call) -> str:
    """The URL of a call; empty for a call to no host."""
    if call.kind is Kind.MCP:
        place = decode(call.body) if call.head.get("transport") in ("http", "sse") and call.body else None
        return str(place.get("url") or "") if isinstance(place, dict) else ""
    return str(call.head.get("url") or "") if call.kind in (Kind.HTTP, Kind.WEBSOCKET) else ""


def keys_named_in(call: Call, names: Iterable[str]) -> tuple[str, ...]:
    """The variables that a recorded call carried, as far as the recording tells: the stand-in of a value names its
    variable. The stand-in of a header names no variable. Then it is the run's only variable for a key, or the one that
    has the provider's name in its own name.

    Args:
        call: The recorded call.
        names: The variables of the run that hold credentials.
    """
    names = list(names)
    told = list(_texts(call))
    stands = {name: token(name).decode().rstrip("~").rstrip("0") for name in names}
    found = [name for name, text in stands.items() if any(text in each for each in told)]
    headers = [name for name, value in call.head.get("headers") or () if _is_credential(name, value)]
    if found or not headers:
        return tuple(found)
    keys = [name for name in names if "KEY" in name.upper() or "TOKEN" in name.upper()]
    provider = provider_of(urlsplit(address_of(call)).hostname or "")
    called = [name for name in keys if provider and provider in name.lower()]
    likely = called or (keys if len(keys) == 1 else [])
    return tuple(likely) or (f"{_UNNAMED}{headers[0]}",)


def _texts(call: Call) -> Iterator[str]:
    """All texts in a call."""
    url = str(call.head.get("url") or "")
    yield url
    if "%" in url:
        yield unquote(url)
    for _, value in call.head.get("headers") or ():
        yield value
        scheme = _SCHEME.match(value)
        if scheme is not None:
            try:
                yield base64.b64decode(value[scheme.end() :], validate=False).decode("latin-1")
            except (binascii.Error, ValueError):
                continue
    if call.body:
        yield call.body.decode("latin-1")


def _is_credential(name: str, value: str) -> bool:
    """Whether a header holds a credential. A signature does not count: it is valid for one request to one host."""
    return (name.lower() in HEADERS and not value.startswith("AWS4-HMAC-")) or name.lower() in COOKIES


def _is_loopback(url: str) -> bool:
    return _LOOPBACK.fullmatch(urlsplit(url).hostname or "") is not None


def _name_of(url: str) -> str:
    """The host by which keys are looked up. On this machine, each port counts as another host."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    return f"{host}:{parts.port}" if parts.port and _is_loopback(url) else host


def _names(text: str, name: str) -> bool:
    """Whether a text has a host in it, and not as a part of a longer name."""
    if not name or name not in (text := text.lower()):
        return False
    return re.search(rf"(?<![{_OF_HOSTS}]){re.escape(name)}(?![{_OF_HOSTS}]*[A-Za-z0-9_-])", text) is not None
