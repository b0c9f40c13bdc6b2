"""The destination and key of a request that is sent again: the host of today's configuration (never one that only a
file names), and a key of today's environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from reenact.errors import EffectRefused, UnreplayableRun, UsageError
from reenact.facts.credentials import STANDIN
from reenact.facts.dialects.hosts import provider_of, region_of
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.timetravel.forks.api_keys import keys_named_in
from reenact.timetravel.resending.request import ModelRequest


@dataclass(frozen=True, slots=True)
class _Provider:
    """Today's configuration of a provider: the variables that may hold its address, its default address, the variables
    that may hold its key, the header for the key, and the form of an address for a provider without a default."""

    bases: tuple[str, ...]
    own: str
    keys: tuple[str, ...]
    header: str = "authorization"
    form: str = ""

    def shown(self) -> str:
        """The form of an address of the provider."""
        return self.form or f"https://HOST{urlsplit(self.own).path}"


_PROVIDERS: Final[Mapping[str, _Provider]] = {
    "openai": _Provider(("OPENAI_BASE_URL",), "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "anthropic": _Provider(("ANTHROPIC_BASE_URL",), "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "x-api-key"),
    "google": _Provider(
        ("GOOGLE_GEMINI_BASE_URL",), "https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "x-goog-api-key",
    ),
    "mistral": _Provider((), "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "ollama": _Provider(("OLLAMA_HOST",), "http://127.0.0.1:11434", ()),
    "bedrock": _Provider(("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"), "", ("AWS_BEARER_TOKEN_BEDROCK",)),
    "azure": _Provider(
        ("AZURE_OPENAI_ENDPOINT",), "", ("AZURE_OPENAI_API_KEY",), "api-key", "https://NAME.openai.azure.com"
    ),
    "vertex": _Provider(("GOOGLE_VERTEX_BASE_URL",), "", ("GOOGLE_OAUTH_ACCESS_TOKEN",)),
    "cohere": _Provider(("CO_API_URL",), "https://api.cohere.com", ("CO_API_KEY",)),
    "groq": _Provider(("GROQ_BASE_URL",), "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "openrouter": _Provider((), "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "deepseek": _Provider((), "https://api.deepseek.com", ("DEEPSEEK_API_KEY",)),
    "together": _Provider((), "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "fireworks": _Provider((), "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    "xai": _Provider((), "https://api.x.ai/v1", ("XAI_API_KEY",)),
}  # fmt: skip
_BASES: Final = frozenset(name for provider in _PROVIDERS.values() for name in provider.bases)
"""Variables that may give the address for an imported run. A file could name any other variable."""
_MANY: Final = ("azure", "vertex")
"""Providers with an address for each customer, which use another provider's protocol at a path of their own."""
_ASKED_OF: Final = {
    "GOOGLE_OAUTH_ACCESS_TOKEN": "$(gcloud auth print-access-token)",
    "GOOGLE_CLOUD_PROJECT": "$(gcloud config get project)",
    "GOOGLE_CLOUD_LOCATION": "global",
}
"""An example of a value for each variable, as a user types it."""
_BY_DIALECT: Final = {
    "openai": "openai", "anthropic": "anthropic", "google": "google", "bedrock": "bedrock", "ollama": "ollama",
    "cohere": "cohere",
}  # fmt: skip
_ENDPOINTS: Final[Mapping[str, re.Pattern[str]]] = {
    "openai": lazy_regex(r"/(?:chat/completions|responses|completions|embeddings)/?$"),
    "anthropic": lazy_regex(r"/v1/messages/?$"),
    "google": lazy_regex(r"/v1(?:beta|alpha)?\d*(?:/projects/[^/]+/locations/[^/]+/publishers/[^/]+)?/models/[^/]+$"),
    "bedrock": lazy_regex(r"/model/[^/]+/[a-z-]+$"),
    "ollama": lazy_regex(r"/api/[a-z]+$"),
    "cohere": lazy_regex(r"/v\d/[a-z]+$"),
}
"""The end of an address for each protocol; the part before it is the base."""
_REGIONAL: Final = lazy_regex(
    r"bedrock-runtime\.[a-z0-9-]+\.amazonaws\.com|(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com"
)
"""The hosts of providers with a host in each region."""
_REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_LOOPBACK: Final = lazy_regex(r"localhost|127(\.\d+){3}|::1")
_ADDRESS: Final = lazy_regex(r"(?:https?://)?[A-Za-z0-9.\[\]:-]+(?:/[^\s?#]*)?")
_KEYED: Final = ("authorization", "x-api-key", "api-key", "x-goog-api-key")


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """The sources of today's configuration.

    Attributes:
        today: The environment of today.
        recorded: Variables of the recording, by name.
        secrets: Names of the variables of the recording that hold credentials.
        ours: Whether this user recorded the run here.
    """

    today: Mapping[str, str]
    recorded: Mapping[str, str]
    secrets: tuple[str, ...]
    ours: bool


@dataclass(frozen=True, slots=True)
class ResendTarget:
    """Where a request goes.

    Attributes:
        url: The address.
        why: The reason, in words.
        key: Variable of today's environment that holds the key; empty without a key.
        header: Header that the key goes in.
        region: The region of Bedrock for which the request is signed; empty for every other provider.
    """

    url: str
    why: str
    key: str = ""
    header: str = ""
    region: str = ""


def destination(request: ModelRequest, known: ProviderSettings, to: str = "", key_env: str = "") -> ResendTarget:
    """Where a request goes today.

    Args:
        request: The request.
        known: Today's configuration.
        to: The address that the user gives; empty for the configured one.
        key_env: The variable whose value is the key; empty for the provider's own key, or with ``to`` for no key.

    Raises:
        UsageError: ``to`` is no web address.
        EffectRefused: Only the recording names the host.
        UnreplayableRun: The key is not set.
    """
    protocol = request.dialect.partition(".")[0]
    url, why = _given(request, protocol, to) if to else _configured(request, protocol, known)
    who = _provider(request, url, protocol)
    if protocol == "bedrock" and not to and not key_env and not _key_of(who, known.today):
        named = (each.get(name) for each in (known.recorded, known.today) for name in _REGIONS)
        region = region_of(request.url) or next(filter(None, named), "")
        if not region:
            raise _unset("AWS_REGION", "Bedrock has an address in each region, and the recording names none")
        return ResendTarget(url, why, region=region)
    wanted = key_env or ("" if to else _key(request, who, url, known))
    if wanted and not known.today.get(wanted):
        raise _unset(wanted, "a recording holds no key: sending again needs the one in today's environment")
    return ResendTarget(url, why, wanted, _header(request, who) if wanted else "")


def _unset(name: str, cause: str) -> UnreplayableRun:
    value = _ASKED_OF.get(name, "…")
    return UnreplayableRun(f"{name} is not set", cause=cause, next_command=f"export {name}={value}", missing=(name,))


# --- the address -------------------------------------------------------------------------------------------------


def _given(request: ModelRequest, protocol: str, to: str) -> tuple[str, str]:
    """The address that a user gives: a host alone gets the recorded path, a base the protocol's endpoint, and a whole
    address stays."""
    parts = urlsplit(to)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise UsageError(
            f"--to {to} is no web address",
            cause="it is a base such as http://127.0.0.1:11434/v1, without a user or a password in it",
            next_command="reenact resend --help",
        )
    path = _plain(request.url)
    if _ENDPOINTS[protocol].search(parts.path):
        return to, "given with --to"
    if parts.path in ("", "/"):
        return urlunsplit((parts.scheme, parts.netloc, *urlsplit(path)[2:])), "given with --to"
    return to.rstrip("/") + _endpoint(path, protocol), "given with --to"


def _configured(request: ModelRequest, protocol: str, known: ProviderSettings) -> tuple[str, str]:
    """The address of today's configuration."""
    url = _plain(request.url)
    parts = urlsplit(url)
    if not parts.hostname:
        return _of_protocol(url, request.provider or protocol, protocol, known, "")
    bases = {name: base for name, base in known.recorded.items() if known.ours or name in _BASES}
    own = _PROVIDERS[_BY_DIALECT[protocol]].bases
    under = [name for name in bases if _is_under(url, bases[name])]
    lender = max(under, key=lambda name: (name in own, len(bases[name])), default="")
    if lender and known.today.get(lender):
        base = known.recorded[lender].rstrip("/")
        return _based(known.today[lender]) + url[len(base) :], f"by {lender}"
    who = provider_of(parts.hostname)
    if (
        not lender
        and (_own_host(who, parts.hostname) or _REGIONAL.fullmatch(parts.hostname))
        and parts.scheme == "https"
    ):
        return _of_protocol(url, who, protocol, known, url)
    namer = _namer(url, known.today)
    if namer:
        return url, f"{namer} names the host"
    if known.ours and not lender:
        return url, "as you recorded it here"
    return _of_protocol(url, who if who in _MANY else protocol, protocol, known, "", lender)


def _of_protocol(
    url: str, who: str, protocol: str, known: ProviderSettings, recorded: str, lender: str = ""
) -> tuple[str, str]:
    """The address of a provider: from its variable, or else its default; without a default, only an address that does
    not come from a file."""
    provider = _PROVIDERS.get(who) or _PROVIDERS[_BY_DIALECT[protocol]]
    variable = next((name for name in provider.bases if known.today.get(name)), "")
    endpoint = _own_endpoint(url, who, protocol, known.today)
    if variable:
        base = _based(known.today[variable])
        return base.removesuffix(_AZURE if who == "azure" else "") + endpoint, f"by {variable}"
    if recorded:
        return recorded, "the provider's own address"
    host = urlsplit(url).hostname
    if not host and who == "bedrock":
        region = next((known.today[name] for name in _REGIONS if known.today.get(name)), "")
        if not region:
            raise _unset("AWS_REGION", "Bedrock has an address in each region, and a trace names none")
        return f"https://bedrock-runtime.{region}.amazonaws.com{endpoint}", "by AWS_REGION"
    if not host and who == "vertex":
        location = known.today["GOOGLE_CLOUD_LOCATION"]
        region = "" if location == "global" else f"{location}-"
        return f"https://{region}aiplatform.googleapis.com{endpoint}", "by GOOGLE_CLOUD_LOCATION"
    strange = who not in _PROVIDERS and who != protocol  # the provider's own address is not known here
    if provider.own and not strange and (not host or (protocol == "ollama" and _is_own_ollama(url))):
        return provider.own + endpoint, "the provider's own address"
    name = lender or next(iter(provider.bases), "")
    if not host:
        what, why = "no variable of today says where it is", "a trace names the provider, and not its address"
    else:
        what, why = "only the recording names this host", "a recording or an imported file may name any host"
    base = _base_of(url, "" if who in _MANY else protocol) if host else provider.shown()
    raise EffectRefused(
        f"nothing is sent to {urlsplit(url).netloc or who}: {what}",
        cause=f"{why}: let today's environment name it, or give --to",
        next_command=f"export {name}={base}" if name else "reenact resend --help",
    )


_AZURE: Final = "/openai/v1"
_VERTEX: Final = "/v1/projects/{}/locations/{}/publishers/google"


def _own_endpoint(url: str, who: str, protocol: str, today: Mapping[str, str]) -> str:
    """The path after the base of a provider: the end of the recorded address, as this provider has it.

    Raises:
        UnreplayableRun: The address needs a project that neither the trace nor today's environment names.
    """
    parts, endpoint = urlsplit(url), _endpoint(url, protocol)
    if who not in _MANY:
        return endpoint
    if parts.hostname:  # the address of another customer has that customer's path
        return urlunsplit(("", "", parts.path, parts.query, ""))
    if who == "azure":
        return f"{_AZURE}{endpoint}"
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        if not today.get(name):
            raise _unset(name, "Vertex AI has an address in each project and location, and a trace names none")
    lead = _VERTEX.format(today["GOOGLE_CLOUD_PROJECT"], today["GOOGLE_CLOUD_LOCATION"])
    return lead + endpoint[endpoint.index("/models/") :]


def _namer(url: str, today: Mapping[str, str]) -> str:
    """The variable of today that holds an address of the same host (on this machine, of the same port); empty
    without one. A variable that has the host within other text does not count."""
    wanted = urlsplit(url)
    local = bool(_LOOPBACK.fullmatch(wanted.hostname or ""))
    for name, text in today.items():
        if name.lower().endswith("_proxy") or not _ADDRESS.fullmatch(text):
            continue
        try:
            found = urlsplit(text if "://" in text else f"//{text}")
            if found.hostname == wanted.hostname and (found.port == wanted.port or not local):
                return name
        except ValueError:
            continue
    return ""


def _is_own_ollama(url: str) -> bool:
    parts = urlsplit(url)
    return bool(_LOOPBACK.fullmatch(parts.hostname or "")) and parts.port == 11434


def _own_host(who: str, host: str) -> bool:
    provider = _PROVIDERS.get(who)
    return provider is not None and bool(provider.own) and urlsplit(provider.own).hostname == host


def _is_under(url: str, base: str) -> bool:
    base = base.rstrip("/")
    rest = url[len(base) :]
    return base.startswith(("http://", "https://")) and url.startswith(base) and (not rest or rest[0] in "/?#")


def _based(base: str) -> str:
    """A base from a variable. Ollama's may have no scheme, and may name every interface."""
    base = base.rstrip("/")
    base = base if "://" in base else f"http://{base}"
    return base.replace("://0.0.0.0", "://127.0.0.1")


def _endpoint(url: str, protocol: str) -> str:
    """The end of an address that belongs to the protocol, with its query."""
    parts = urlsplit(url)
    found = _ENDPOINTS[protocol].search(parts.path)
    path = found[0] if found else parts.path
    return path + (f"?{parts.query}" if parts.query else "")


def _base_of(url: str, protocol: str) -> str:
    """The address before the end that belongs to the protocol; without a protocol, the host alone."""
    parts = urlsplit(url)
    found = _ENDPOINTS[protocol].search(parts.path) if protocol else None
    return f"{parts.scheme}://{parts.netloc}{parts.path[: found.start()] if found else ''}"


def _plain(url: str) -> str:
    """An address without the parameters that held a credential."""
    parts = urlsplit(url)
    if "~" not in parts.query and "%7E" not in parts.query.upper():
        return url
    kept = [(name, value) for name, value in parse_qsl(parts.query) if not STANDIN.search(value.encode())]
    return urlunsplit(parts._replace(query=urlencode(kept)))


# --- the key -----------------------------------------------------------------------------------------------------


def _provider(request: ModelRequest, url: str, protocol: str) -> _Provider:
    """The provider whose key is used: the one that was asked, or else the default of the protocol."""
    if request.provider in _PROVIDERS:
        return _PROVIDERS[request.provider]
    for host in (urlsplit(request.url).hostname or "", urlsplit(url).hostname or ""):
        who = provider_of(host)
        if _own_host(who, host) or who in _MANY:
            return _PROVIDERS[who]
    return _PROVIDERS[_BY_DIALECT[protocol]]


def _key(request: ModelRequest, who: _Provider, url: str, known: ProviderSettings) -> str:
    """The variable of the key: the one that the recorded request carried, else the provider's. A request that this user
    recorded without a key is sent without one. In another tool's recording, the key may have been lost."""
    carried = any(name.lower() in _KEYED for name, _ in request.call.head.get("headers") or ())
    if known.ours and not carried:
        return ""
    named = [name for name in keys_named_in(request.call, known.secrets) if name in known.secrets]
    named = [name for name in named if known.ours or name in who.keys]
    wanted = [*named, *who.keys]
    found = next((name for name in wanted if known.today.get(name)), "")
    needed = carried or not _LOOPBACK.fullmatch(urlsplit(url).hostname or "")
    return found or (next(iter(wanted), "") if needed else "")


def _key_of(who: _Provider, today: Mapping[str, str]) -> str:
    return next((name for name in who.keys if today.get(name)), "")


def _header(request: ModelRequest, who: _Provider) -> str:
    """The header that the recorded request carried its key in, else the provider's."""
    given = [str(name).lower() for name, _ in request.call.head.get("headers") or ()]
    unsigned = request.dialect.partition(".")[0] != "bedrock"
    return next((name for name in given if unsigned and name in _KEYED), who.header)
