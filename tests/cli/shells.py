# SPDX-License-Identifier: BSD-3-Clause
"""What real shells offer at the end of command lines, with a script of `unisono completion`."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_SECONDS = 40


def asked_of_bash(
    script: Path, lines: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> list[list[str]]:
    """By the variables that bash sets for a completion function; at ':' and '=' it cuts words."""
    asked = ["bind 'set bell-style none' 2>/dev/null", f"source {script}"]
    for line in lines:
        words = " ".join(shlex.quote(word) for word in _cut(line))
        asked += [
            f"COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)} COMP_WORDS=({words})",
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))",
            "_unisono",
            "printf '%s\\n' \"${COMPREPLY[@]}\"",
            "echo ==",
        ]
    command = ["bash", "--norc", "--noprofile", "-c", "\n".join(asked)]
    return _answers(_said(command, folder, environment))


def _cut(line: str) -> list[str]:
    words: list[str] = []
    for part in line.split(" "):
        piece = ""
        pieces = []
        for character in part:
            if character in ":=" and not part.startswith("'"):
                pieces += [piece, character] if piece else [character]
                piece = ""
            else:
                piece += character
        words += [*pieces, piece] if piece or not pieces else pieces
    return words


def asked_of_fish(
    script: Path, lines: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> list[list[str]]:
    asked = [f"source {script}"]
    for line in lines:
        asked += [f"complete --do-complete={shlex.quote(line)}", "echo =="]
    text = _said(["fish", "--no-config", "-c", "\n".join(asked)], folder, environment)
    return [[entry.split("\t")[0] for entry in answer] for answer in _answers(text)]


def asked_of_zsh(
    script: Path, lines: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> list[list[str]]:
    """In an interactive zsh, which finds the script in its `fpath`; what it offers is written down on the way."""
    home = folder.parent / "zsh"
    home.mkdir()
    (home / "_unisono").symlink_to(script)
    said = home / "said"
    (home / ".zshrc").write_text(_ZSHRC.format(home=home, said=said))
    with _Terminal(["zsh", "-d", "-i"], folder, {**environment, "ZDOTDIR": str(home)}) as terminal:
        _wait_for(said, 1)
        for number, line in enumerate(lines, 2):
            terminal.type(f"{line}\t\x18q")
            _wait_for(said, number)
    return _answers(said.read_text())[1:]


# Ctrl-X q ends an answer. What is looked up for zsh's own needs (-O, -A, -D) is not offered.
_ZSHRC = r"""
fpath=({home} $fpath)
autoload -U compinit
compinit -u -D
compadd() {{
    if [[ ${{@[1,(i)(-|--)]}} != *-(O|A|D)\ * ]]; then
        local -a hits
        builtin compadd -A hits "$@"
        print -rl -- $hits >> {said}
    fi
    builtin compadd "$@"
}}
answered() {{ print -r -- '==' >> {said}; BUFFER= }}
zle -N answered
bindkey '^Xq' answered
bindkey '^I' complete-word
setopt no_list_beep no_beep
LISTMAX=10000
print -r -- '==' > {said}
"""


def typed_into_bash(script: Path, line: str, folder: Path, environment: Mapping[str, str]) -> str:
    """What an interactive bash makes of a line and a Tab: readline itself puts it in."""
    said = folder.parent / "typed"
    rc = folder.parent / "bashrc"
    rc.write_text(
        f"source {script}\nkeep() {{ printf '%s\\n==\\n' \"$READLINE_LINE\" >> {said}; }}\n"
        f"bind -x '\"\\C-xq\": keep'\necho == > {said}\n"
    )
    with _Terminal(["bash", "--noprofile", "--rcfile", str(rc), "-i"], folder, environment) as terminal:
        _wait_for(said, 1)
        terminal.type(f"{line}\t\x18q")
        _wait_for(said, 2)
    return said.read_text().splitlines()[1]


class _Terminal:
    """A shell on a terminal of its own; what it shows is read and forgotten."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={**environment, "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> _Terminal:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        os.close(self._ours)

    def _read(self) -> None:
        try:
            while os.read(self._ours, 4096):
                pass
        except OSError:
            pass  # the shell has ended

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())


def _wait_for(said: Path, answers: int) -> None:
    end = time.monotonic() + _SECONDS
    while not said.is_file() or said.read_text().splitlines().count("==") < answers:
        assert time.monotonic() < end, f"the shell has not answered: {said}"
        time.sleep(0.01)


def _said(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=_SECONDS,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def _answers(text: str) -> list[list[str]]:
    """The lines before each `==`; with a folder's slash and blanks around names left out."""
    answers: list[list[str]] = [[]]
    for line in text.splitlines():
        if line == "==":
            answers.append([])
        elif line.strip():
            answers[-1].append(line.strip().rstrip("/"))
    return answers[:-1]
