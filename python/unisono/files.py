# SPDX-License-Identifier: BSD-3-Clause
"""Files are written whole and then given their name, so that nobody reads half of one."""

from __future__ import annotations

import json
import os
import tempfile
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
