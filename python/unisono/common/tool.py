# SPDX-License-Identifier: BSD-3-Clause
"""Asks the compiled helper `unisono-tool`, which prints JSON (docs/inside/tool.md)."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from typing import Any

from unisono.common import places
from unisono.common.errors import UnisonoError, UsageError


def ask_text(*arguments: str) -> str:
    """The standard output of `unisono-tool ARGUMENTS`."""
    tool = places.require("tool")
    try:
        answer = subprocess.run(
            [str(tool), *arguments], capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        raise UnisonoError(f"cannot start {tool}: {error.strerror}") from error
    if answer.returncode != 0:
        raise failure(answer.returncode, answer.stderr)
    return answer.stdout


def failure(status: int, stderr: str) -> UnisonoError:
    """The error for a tool that ended with `status`: 2 says that the question was wrong."""
    lines = [line.removeprefix("unisono-tool: ") for line in stderr.strip().splitlines()]
    text = "\n".join(lines)
    if status == 2:
        return UsageError(text or "unisono-tool refused the question and gave no reason")
    how = f"ended with status {status}" if status > 0 else f"was killed by signal {-status}"
    return UnisonoError(f"unisono-tool {how}" + (f": {text}" if text else ""))


def parse(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UnisonoError(
            f"unisono-tool printed what is no JSON ({error}); is it of another version? Build it again."
        ) from error


def ask(*arguments: str) -> Any:
    """The JSON that `unisono-tool ARGUMENTS` prints."""
    return parse(ask_text(*arguments))


def ask_lines(*arguments: str) -> Iterator[Any]:
    """The JSON lines of `unisono-tool ARGUMENTS`, as they come."""
    tool = places.require("tool")
    # Errors go to a file: a pipe that nobody reads meanwhile could fill up.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        try:
            process = subprocess.Popen(
                [str(tool), *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise UnisonoError(f"cannot start {tool}: {error.strerror}") from error
        with process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    if line.strip():
                        yield parse(line)
            except BaseException:
                process.kill()
                raise
        # Status 1 says that something failed, which the last line tells.
        if process.returncode not in (0, 1):
            errors.seek(0)
            raise failure(process.returncode, errors.read())


@cache
def options() -> list[dict[str, Any]]:
    """The option list of the code: every name that a run knows."""
    answer: list[dict[str, Any]] = ask("options")
    return answer


@cache
def algorithms() -> list[dict[str, Any]]:
    """The registry of algorithms."""
    answer: list[dict[str, Any]] = ask("list")
    return answer


def environment() -> dict[str, Any]:
    """What a job would read here, and which options are set; empty where the compiled parts are of another version."""
    try:
        answer = ask("environment")
    except UnisonoError:
        return {}
    return answer if isinstance(answer, dict) else {}
