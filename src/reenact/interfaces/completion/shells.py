"""The completion scripts for bash, zsh and fish, and how each is installed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from reenact.facts.lazy_dataclass import dataclass

BASH = r"""# Completion of reenact in bash. Written by `reenact init --completion`.
_reenact_complete() {
    local first line
    COMPREPLY=()
    {
        IFS= read -r first
        while IFS= read -r line; do COMPREPLY+=("$line"); done
    } < <(_REENACT_COMPLETING=bash "$1" "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    case $first in
        files) compopt -o default 2>/dev/null ;;
        commands) COMPREPLY=($(compgen -c -- "$2")) ;;
    esac
    case ${COMPREPLY[0]} in
        *[=:/]) compopt -o nospace 2>/dev/null ;;
    esac
}
complete -F _reenact_complete reenact
"""

ZSH = r"""#compdef reenact
# Completion of reenact in zsh. Written by `reenact init --completion`.
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_reenact() {
    local -a lines values shown open told
    local line value
    lines=("${(@f)$(_REENACT_COMPLETING=zsh ${words[1]} "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in "${(@)lines[2,-1]}"; do
        value=${line%%$'\t'*}
        [[ -n $value ]] || continue
        if [[ $value == *[=:/] ]]; then
            open+=("$value"); told+=("${line//$'\t'/  }")
        else
            values+=("$value"); shown+=("${line//$'\t'/  }")
        fi
    done
    (( $#values )) && compadd -l -V reenact -d shown -a values
    (( $#open )) && compadd -l -V reenact -S '' -d told -a open
    case $lines[1] in
        files) _files ;;
        commands) _command_names -e ;;
    esac
}
compdef _reenact reenact
"""

FISH = r"""# Completion of reenact in fish. Written by `reenact init --completion`.
function __reenact_complete
    set -lx _REENACT_COMPLETING fish
    set -l words (commandline -opc)
    set -l lines ($words[1] $words[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path (commandline -ct)
        case commands
            __fish_complete_command
    end
    printf '%s\n' $lines[2..-1]
end
complete -c reenact -f -k -a '(__reenact_complete)'
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """The files that install the completion of one shell.

    Attributes:
        script: The path of the script.
        text: The text of the script.
        start: The file that the shell reads when it starts; None if the shell finds the script by itself.
    """

    script: Path
    text: str
    start: Path | None

    @property
    def line(self) -> str:
        """The line that the shell's start-up file needs."""
        return f'[ -r "{self.script}" ] && . "{self.script}"'


SHELLS = ("bash", "zsh", "fish")


def installation(shell: str, environ: Mapping[str, str]) -> Installation:
    """The files of the completion for a shell, in the user's home directory."""
    home = Path(environ.get("HOME") or Path.home())
    if shell == "fish":
        config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        return Installation(config / "fish" / "completions" / "reenact.fish", FISH, None)
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "reenact"
    if shell == "zsh":
        return Installation(data / "completion.zsh", ZSH, Path(environ.get("ZDOTDIR") or home) / ".zshrc")
    return Installation(data / "completion.bash", BASH, home / ".bashrc")


def shell_of(environ: Mapping[str, str]) -> str:
    """The user's shell; empty if we have no completion for it."""
    name = os.path.basename(environ.get("SHELL", ""))
    return name if name in SHELLS else ""
