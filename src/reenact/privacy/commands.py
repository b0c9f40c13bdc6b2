"""Command lines: finds the words that are credentials, by the options before them.

``--password X``, ``--token=X`` and ``X_KEY=X`` are known by their names, ``-u name:X`` by its form, and ``-pX`` by the
program, or by the form of ``X`` if the program is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from reenact.facts.credentials import named, named_in_environment
from reenact.facts.lazy_regex import lazy_regex

_OPTION: Final = lazy_regex(r"--?[A-Za-z][\w-]*\Z")
_ASSIGNED: Final = lazy_regex(r"(-{0,2}[A-Za-z_][\w.-]*)([=:])(.+)", re.DOTALL)
_USER: Final = lazy_regex(r"(--(?:proxy-)?user[=]|-[uUa])?([^\s:/@=]{1,128}):(?!//)(.+)", re.DOTALL)
_USERS: Final = frozenset({"-u", "-U", "-a", "--user", "--proxy-user", "--auth", "--creds"})
_ATTACHED: Final = lazy_regex(r"(-p)(.{4,})", re.DOTALL)
_WORD: Final = lazy_regex(r"[a-z][a-z-]*\d{0,2}|[\d.:/-]+|=.*|.*[/\\].*", re.DOTALL)
"""Values after ``-p`` that are no password: longer options, ports, paths."""
_WORDS: Final = lazy_regex(r"""(?:[^\s'"]|'[^']*'|"(?:\\.|[^"\\])*"|['"])+""", re.DOTALL)
_QUOTED: Final = lazy_regex(r"""(['"])(.*)\1\Z""", re.DOTALL)

_OF_PROGRAMS: Final = {
    **dict.fromkeys(("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump"), ("-p",)),
    **dict.fromkeys(("7z", "7za", "7zz", "unzip", "zip"), ("-p", "-P")),
    "sshpass": ("-p",),
    "redis-cli": ("-a",),
    **dict.fromkeys(("ldapsearch", "ldapmodify", "ldapadd", "ldapwhoami"), ("-w",)),
}
"""Short options whose value is a password, by program; for programs in ``_APART`` the value is a separate word."""
_APART: Final = frozenset({"sshpass", "redis-cli", "unzip", "zip", "ldapsearch", "ldapmodify", "ldapadd", "ldapwhoami"})
_NO_PASSWORDS: Final = frozenset({"docker", "podman", "chroot", "sudo", "su", "ps", "chown", "install", "rsync", "tar"})
"""Programs whose ``-u`` or ``--user`` names a user and a group."""


def secrets_of(words: Sequence[str]) -> list[tuple[str, str] | None]:
    """For each word of a command line, the text before a credential in it, and the credential; None without one."""
    found: list[tuple[str, str] | None] = []
    program = _program(words)
    before = ""
    for word in words:
        found.append(_secret(word, before, program) if found else None)
        before = word
    return found


def _program(words: Sequence[str]) -> str:
    for word in words[:3]:
        name = word.rpartition("/")[2].removesuffix(".exe")
        if name not in ("env", "sudo", "nice", "timeout") and "=" not in word:
            return name
    return ""


def _secret(word: str, before: str, program: str) -> tuple[str, str] | None:
    short = _OF_PROGRAMS.get(program, ())
    if _OPTION.match(before) is not None and not word.startswith("-") and is_option(before):
        return "", word
    if before in short and program in _APART:
        return "", word
    assigned = _ASSIGNED.match(word)
    if assigned is not None and "://" not in word and is_option(assigned[1]):
        return assigned[1] + assigned[2], assigned[3]
    return _of_user(word, before, program) or _attached(word, short)


def _of_user(word: str, before: str, program: str) -> tuple[str, str] | None:
    user = _USER.fullmatch(word)
    if user is None or not (user[1] or before in _USERS) or not _is_password(user[2], user[3], program):
        return None
    return (user[1] or "") + user[2] + ":", user[3]


def _attached(word: str, short: Sequence[str]) -> tuple[str, str] | None:
    for option in short:
        if word.startswith(option) and len(word) > len(option):
            return option, word[len(option) :]
    attached = _ATTACHED.fullmatch(word)
    if attached is not None and not short and _WORD.fullmatch(attached[2]) is None and _mixed(attached[2]):
        return attached[1], attached[2]
    return None


def _mixed(text: str) -> bool:
    """Whether a word has both letters and other characters, as passwords have."""
    return any(each.isalpha() for each in text) and not text.isalpha()


def _is_password(user: str, password: str, program: str) -> bool:
    return program not in _NO_PASSWORDS and not password.isdecimal() and password != user


def is_option(name: str) -> bool:
    """Whether the value of an option, or of a variable in front of a command, is a credential."""
    plain = name.lstrip("-")
    return named(plain) == 2 or (named(plain) == 1 and plain.lower() not in ("auth",)) or named_in_environment(plain)


def line_of(line: str, clean: Callable[[Sequence[str]], Sequence[str]]) -> str:
    """A line for a shell with each word cleaned; a word in quotes keeps its quotes."""
    places = list(_WORDS.finditer(line))
    bare = [_QUOTED.fullmatch(place[0]) for place in places]
    words = [place[0] if quoted is None else quoted[2] for place, quoted in zip(places, bare, strict=True)]
    parts: list[str] = []
    at = 0
    for place, quoted, word, cleaned in zip(places, bare, words, clean(words), strict=True):
        parts += [line[at : place.start()], place[0] if cleaned == word else _quoted(quoted, cleaned)]
        at = place.end()
    return "".join(parts) + line[at:]


def _quoted(quoted: re.Match[str] | None, word: str) -> str:
    return word if quoted is None else quoted[1] + word + quoted[1]
