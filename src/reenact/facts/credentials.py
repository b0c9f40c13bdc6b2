"""Credentials: the names and shapes by which they are known, and their stand-ins.

A stand-in reads ``~rx`` + one letter for its class + a keyed digest + ``~``. Its characters survive headers, URLs and
JSON strings unescaped, no credential's shape allows ``~``, and so a stand-in is never mistaken for a credential:
redacting twice changes nothing.
"""

from __future__ import annotations

import re
import string
from base64 import b32encode
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b

from reenact.facts.lazy_regex import lazy_regex

RULES = ("credential-names/3", "credential-shapes/4", "credential-views/2")
"""The rule sets of the redactor, by name and version."""


class CredentialSort(StrEnum):
    """Class of a credential: the letter in its stand-in."""

    KEY = "k"
    """A vendor's key, known by its shape (``sk-…``, ``AKIA…``)."""
    TOKEN = "t"
    """A JSON web token."""
    PEM = "p"
    """A private key in a PEM frame."""
    SCHEME = "b"
    """The scheme before a credential: ``Bearer`` or ``Basic``."""
    NAMED = "n"
    """The class of a value whose name says that it is a credential (``password``, ``client_secret``)."""
    USERINFO = "u"
    """The password in a URL's user part."""
    COOKIE = "c"
    """A cookie's value."""
    VALUE = "v"
    """The value of an environment variable that holds a credential; its digest names the variable
    (``facts.known_credentials``)."""


MARK = b"~rx"
STANDIN = lazy_regex(rb"~rx([a-z])([a-z2-7]*)0*~")
"""A stand-in, or the constant of its class (a stand-in without digest)."""
SHORTEST = 16
"""Fewest bytes in which a stand-in with a digest fits."""

_LONGEST_DIGEST = 26
_FRAME = len(MARK) + 2


def constant(sort: str, size: int = _FRAME) -> bytes:
    """The value that replaces every credential of a class when texts are compared, if asked in ``size`` bytes. A
    value of under five bytes is only tildes."""
    return MARK + sort.encode() + b"0" * (size - _FRAME) + b"~" if size >= _FRAME else b"~" * size


def bare(found: re.Match[bytes]) -> bytes:
    """The value that replaces a stand-in when texts are compared: the constant of its class, or the variable that it
    names."""
    if found[1] == b"v":
        return MARK + b"v" + found[2] + b"~"
    return constant(found[1].decode())


def stand_in(sort: str, original: bytes, secret: bytes, *, fit: bool = True) -> bytes:
    """The stand-in of a credential.

    Args:
        sort: Its class.
        original: The credential; only its keyed digest survives.
        secret: Key of the digest, of the run or store: equal credentials have equal stand-ins under one secret.
        fit: Whether to give exactly as many bytes as the original has. A credential under ``SHORTEST`` bytes then
            leaves a stand-in without digest; otherwise it leaves one of ``SHORTEST`` bytes, which also hides its
            length.
    """
    size = len(original)
    if size < SHORTEST:
        if fit:
            return constant(sort, size)
        size = SHORTEST
    digest = blake2b(original, key=secret[:64], digest_size=16, person=b"reenact-standin").digest()
    shown = b32encode(digest).rstrip(b"=").lower()[: min(_LONGEST_DIGEST, size - _FRAME)]
    return MARK + sort.encode() + shown + b"0" * (size - _FRAME - len(shown)) + b"~"


_FRAGMENT = lazy_regex(rb"~(?:r(?:x(?:[a-z][a-z2-7]*0*~?)?)?)?")


def is_stand_in(value: bytes) -> bool:
    """Whether a whole value is a stand-in or the beginning of one. A short stand-in of tildes counts, too."""
    return _FRAGMENT.fullmatch(value) is not None or not value.strip(b"~")


_STRONG = lazy_regex(
    r"(?:api|secret|private|access|account|shared|signing|encryption|master|subscription|auth|service|functions)keys?$"
    r"|pass(?:word|wd|phrase|wort)s?$|^devicecode$|(?:^|db|pg|user|mysql|postgres)pwd$"
    r"|(?:client|app|api|oauth|webhook|shared|jwt|session|consumer|user|token|signing)secrets?$|^secrets?$"
    r"|(?:access|refresh|id|auth|bearer|session|security|api|bot|oauth|private|csrf|xsrf|personal|deploy|login)tokens?$"
    r"|(?:github|gitlab|slack|hf|huggingface|npm|pypi|discord|telegram|vault|gh|notion|linear|consul)token$"
    r"|^(?:x|db|user|my|root|admin|ssh|login|smtp|ftp|mail)?pw$|passcodes?$|^xsecret$|^auth(?:entication)?header$"
    r"|^(?:smtp|e?mail|db|user|my|pg|postgres|mysql|redis|mongo|ldap|imap|ftp|ssh|sudo|git|svn|admin|root|http|proxy|basic"
    r"|auth|login|rabbitmq|amqp|es|elastic|sa|app|service|require)?pass$|^mnemonic$|clientkeydata$|seedphrase$|recoverycodes?$"
    r"|authorization$|^authheader$|^setcookie$|^(?:aws)?credentials?$|^pgpass$"
)
_FRIENDS = lazy_regex(
    r"tokens$|(?:max|min|next|prev|previous|page|continuation|sync|cancel|cancellation|start|end|bos|eos|pad|unk|stop"
    r"|resume|change|placeholder|prompt|completion|special|mask|cursor|budget|skip|delta|client_request|clientrequest"
    r"|idempotency|per|each|by|first|last)token$"
)
_WEAK = lazy_regex(
    r"token$|^jwt$|^cookies?$|^auth$|secret$|^(?:j|php|asp)?sess(?:ion)?(?:id|key)$|^sid$|^otp$|^signedurl$"
    r"|(?:app|application|consumer|project|server|admin|write|ingest|license|webhook|hmac|deploy|bot)keys?$"
)
_FOLD = str.maketrans("", "", "_-. ")


@lru_cache(4096)
def named(name: str) -> int:
    """The meaning of a field's name for its value. 2: the value is always a credential; 1: it is one if it looks
    random; 0: it is none.

    Names of counts and positions (``max_tokens``, ``next_page_token``) mean nothing. Case, ``_``, ``-`` and ``.`` do
    not matter.
    """
    folded = name.lower().translate(_FOLD)
    if _FRIENDS.search(folded):
        return 2 if folded.endswith(("accesstokens", "refreshtokens", "apitokens", "authtokens")) else 0
    if _STRONG.search(folded):
        return 2
    return 1 if _WEAK.search(folded) else 0


_QUERY = frozenset({
    "key", "token", "sig", "signature", "xamzsignature", "xamzcredential", "xamzsecuritytoken", "xgoogsignature",
    "xgoogcredential", "hapikey", "appid", "code", "clientassertion", "ticket", "awsaccesskeyid", "xapikey",
})  # fmt: skip


def named_in_url(name: str) -> int:
    """The meaning of a query parameter's name for its value, as in ``named``. Names such as ``key`` and ``sig`` count
    too, if the value looks random."""
    return named(name) or (1 if name.lower().translate(_FOLD) in _QUERY else 0)


HEADERS = frozenset({
    "authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "x-amz-security-token",
    "x-auth-token", "x-access-token", "x-csrf-token", "x-xsrf-token", "x-functions-key", "ocp-apim-subscription-key",
    "x-vault-token", "private-token", "job-token", "x-gitlab-token", "x-github-token", "x-subscription-token",
    "x-amz-access-token", "x-shopify-access-token", "x-token", "apikey", "token", "x-goog-iam-authorization-token",
    "x-hub-signature", "x-hub-signature-256", "x-stainless-auth", "authentication", "x-ms-authorization-auxiliary",
    "x-forwarded-access-token", "helicone-auth", "x-registry-auth", "dpop",
})  # fmt: skip
"""Headers whose whole value (after its scheme) is a credential."""

COOKIES = frozenset({"cookie", "set-cookie", "cookie2", "set-cookie2"})
"""Headers that hold ``name=value`` pairs."""

PROTECTED = frozenset({
    "signature", "encryptedcontent", "thoughtsignature", "toolcallid", "callid", "tooluseid", "requestid", "responseid",
    "previousresponseid", "itemid", "systemfingerprint", "obfuscation", "signaturedelta", "conversationid", "messageid",
})  # fmt: skip
"""Folded names of fields with protocol ids or signed data of providers. A credential's shape inside their values is
there by chance, and never edited."""


def protected(name: str) -> bool:
    """Whether a field's value must never be edited."""
    return name.lower().translate(_FOLD) in PROTECTED


_ENVIRONMENT = lazy_regex(
    r"(?:^|_)(?:KEY|KEYS|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|PWD|CREDENTIALS?|APIKEY|AUTH|DSN|COOKIE"
    r"|CONNECTION_STRING|PAT|PGPASS)(?:_\d+)?$|(?:API|ACCESS|SECRET|PRIVATE)_?KEY|PASSWORD|(?:AUTH|ACCESS|API)_?TOKEN"
)
_NOT_ENVIRONMENT = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "XDG_SESSION_COOKIE"})


def named_in_environment(name: str) -> bool:
    """Whether an environment variable of this name holds a credential."""
    upper = name.upper()
    return upper not in _NOT_ENVIRONMENT and (_ENVIRONMENT.search(upper) is not None or named(name) == 2)


_RANDOM = lazy_regex(rb"[\w.\-+/=~%:]{16,}")
_TRIVIAL = lazy_regex(
    rb"(?i)|string|str|null|none|true|false|text|password|secret|token|optional|required|bytes|bearer|undefined|object"
    rb"|\*+|x{3,}|\[[\w .:-]*\]|<[\w .:-]*>|\$?\{{1,2}[\w .:-]*\}{1,2}|\$[A-Z_][A-Z0-9_]*|redacted"
    rb"|[\w-]{0,8}(?:\.{3}|\*{3,}|\xe2\x80\xa6|(?:\xe2\x80\xa2){2,})\w{0,6}|your[-_ ][\w -]*|change-?me|n/?a|yes|no"
)


def looks_random(value: bytes) -> bool:
    """Whether a value could be a token: 16 characters or more of a token's alphabet, letters and digits among them."""
    if _RANDOM.fullmatch(value) is None:
        return False
    return any(48 <= byte <= 57 for byte in value) and value.lower() != value.upper()


def like_text(value: bytes) -> bool:
    """Whether bytes can be a word: in UTF-8, or in a code page whose letters begin at 192 (Latin-1, Windows-1251).

    In any 200 KB of an archive, a short name and a sign appear by chance. If the bytes after them are no text, they are
    no credential.
    """
    if value.isascii():
        return True
    try:
        value.decode()
    except UnicodeDecodeError:
        return all(byte < 128 or byte >= 192 for byte in value)
    return True


def trivial(value: bytes) -> bool:
    """Whether a value is only a placeholder of a schema, a template or another tool's redaction."""
    return _TRIVIAL.fullmatch(value) is not None


_AROUND = 64
_CODED_BEFORE = lazy_regex(rb"[A-Za-z0-9+/_-]*+\Z")
_CODED_BEHIND = lazy_regex(rb"[A-Za-z0-9+/_-]*+")
_SMALL, _LARGE = string.ascii_lowercase.encode(), string.ascii_uppercase.encode()
"""Two fifths of base64 are small letters, and two fifths are large ones. Words joined by dashes and slashes seldom have
many letters of both sorts."""


def is_coded(data: bytes, start: int, end: int) -> bool:
    """Whether the text around a place is base64, where any shape appears by chance once in some megabytes. A real key
    is not joined to so long a text without words."""
    left = _CODED_BEFORE.search(data, max(0, start - _AROUND), start)
    right = _CODED_BEHIND.match(data, end, end + _AROUND)
    around = (left[0] if left is not None else b"") + (right[0] if right is not None else b"")
    if len(around) < _AROUND:
        return False
    fewest = min(len(around) - len(around.translate(None, letters)) for letters in (_SMALL, _LARGE))
    return fewest * 5 >= len(around)
