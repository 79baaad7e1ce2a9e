# SPDX-License-Identifier: BSD-3-Clause
"""Files are written whole and then given their name, so that nobody reads half of one."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unisono.errors import UnisonoError, UsageError


def write_whole(file: Path, text: str) -> None:
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UnisonoError(f"cannot write {file}: {error.strerror}") from error


def _require_regular(file: Path) -> None:
    if file.exists() and not file.is_file():
        raise UsageError(f"cannot write {file}: it is there and no regular file; name another one")


def require_writable(file: Path) -> None:
    """Ends the command where `file` could not be written, before there is anything to write."""
    _require_regular(file)
    try:
        # As write_whole begins: only trying tells, root may seem to have every right.
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    except OSError as error:
        raise UnisonoError(f"cannot write {file}: {error.strerror}") from error
    os.close(descriptor)
    Path(name).unlink(missing_ok=True)


def require_outputs(named: Mapping[str, Path | None]) -> None:
    """Ends the command where one of the files that it is to write, by what names them, could not be written, or is another one
    of them, whatever it is called."""
    by_file: dict[Path, str] = {}
    for option, file in named.items():
        if file is None:
            continue
        first = by_file.setdefault(file.resolve(), option)
        if first != option:
            raise UsageError(f"{first} and {option} name the same file, {file}: give each its own")
    for file in filter(None, named.values()):
        require_writable(file)


def read_json(file: Path, otherwise: str) -> Any:
    """What the JSON in `file` says; ends the command where there is none: it `otherwise`, "is no report"."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnisonoError(f"cannot read {file}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise UnisonoError(f"{file} {otherwise}: line {error.lineno} of it is no JSON") from error
    except ValueError as error:
        raise UnisonoError(f"{file} {otherwise}: it is no text") from error


def require_own(file: Path, schema: str) -> None:
    """Ends the command where `file` holds something else than what would be written there: an older one of the same kind may
    be replaced, and so may an empty file."""
    _require_regular(file)  # which reading could wait for
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError):
        text = "?"
    try:
        found = json.loads(text) if text.strip() else {"schema": schema}
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("schema") != schema:
        raise UsageError(
            f"{file} is there and no {schema}: it is not overwritten; name another file, or remove it"
        )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
