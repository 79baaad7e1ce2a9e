# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher a command starts with, and the command with Unisono in it: the compiled part reads launchers' command lines
(src/launch)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unisono.common import places, tool


@dataclass(frozen=True)
class Launcher:
    """A launcher as found on this machine."""

    path: str
    flavour: str  # openmpi4, openmpi5, mpich, intel, srun or unknown
    version: str
    title: str  # Open MPI 5.0.11


@dataclass(frozen=True)
class Command:
    """What is known of a command that starts a job."""

    launcher: Launcher | None
    position: int | None  # of the launcher
    program: Sequence[str] = ()  # of its first section, with its arguments; empty: none is there


def _words(option: str, values: Sequence[str | Path]) -> list[str]:
    return [word for value in values for word in (f"--{option}", str(value))]


def read(command: Sequence[str]) -> Command:
    """Where the launcher stands in a command, at its beginning or behind `env`, `timeout` and their like, and which one it is."""
    answer: dict[str, Any] = tool.ask("launch", *_words("word", command))
    launcher = Launcher(**answer["launcher"]) if answer["launcher"] else None
    return Command(launcher, answer["position"], answer.get("program", ()))


def with_unisono(command: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """The command with the shim before each program, which gives it the settings."""
    given = [f"{name}={value}" for name, value in settings.items()]
    shim = ["--shim", str(places.require("shim")), "--library", str(places.require("library"))]
    words: list[str] = tool.ask("launch", *shim, *_words("set", given), *_words("word", command))["words"]
    return words


def identify(file: str) -> Launcher:
    """The launcher that `file` is."""
    return Launcher(**tool.ask("launchers", "--file", file)[0])


def found_in(folders: Sequence[Path]) -> list[Launcher]:
    """The launchers in these folders; each once, under its first name."""
    return [Launcher(**one) for one in tool.ask("launchers", *_words("folder", folders))]
