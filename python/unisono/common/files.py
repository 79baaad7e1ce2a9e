# SPDX-License-Identifier: BSD-3-Clause
"""Files are written whole and then given their name, so that nobody reads half of one. What is read is a regular file of
bounded size: no device or pipe, which could be waited for."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from unisono.common import json_text
from unisono.common.errors import FileError, UnisonoError, UsageError

MOST_BYTES = 64 << 20
_PIECE_BYTES = 1 << 20
_MOST_NAME = 200  # bytes; file systems take 255


def write_whole(file: Path, text: str, *, own: bool = False) -> None:
    """`own`: nobody else may read it."""
    try:
        with replacing(file, own=own) as stream:
            stream.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UnisonoError(f"cannot write {file}: {error.strerror}") from error


@contextmanager
def replacing(file: Path, *, own: bool = False) -> Iterator[IO[bytes]]:
    """What is written becomes `file` when it is whole. Until then it has a name that nobody can know before."""
    _require_regular(file)  # a device would be replaced by a file
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:_MOST_NAME]}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        Path(name).chmod(0o600 if own else 0o666 & ~_umask())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _require_regular(file: Path) -> None:
    if file.exists() and not file.is_file():
        raise UsageError(f"cannot write {file}: it is there and no regular file; name another one")


def require_writable(file: Path) -> None:
    """Ends the command where `file` could not be written, before there is anything to write."""
    _require_regular(file)
    try:
        # As write_whole begins: only trying tells, root may seem to have every right.
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:_MOST_NAME]}.")
    except OSError as error:
        raise UnisonoError(f"cannot write {file}: {error.strerror}") from error
    os.close(descriptor)
    Path(name).unlink(missing_ok=True)


def require_outputs(named: Mapping[str, Path | None]) -> None:
    """Ends the command where one of the files that it is to write could not be written, or is the same as
    another of them, whatever it is called. `named`: the files by what names them."""
    by_file: dict[Path, str] = {}
    for option, file in named.items():
        if file is None:
            continue
        first = by_file.setdefault(file.resolve(), option)
        if first != option:
            raise UsageError(f"{first} and {option} name the same file, {file}: give each its own")
    for file in filter(None, named.values()):
        require_writable(file)


def read_bytes(file: Path, most: int = MOST_BYTES) -> bytes:
    """What stands in `file`, if it is a regular file of at most so many bytes; else OSError."""
    if _is_null_device(file):
        return b""
    if not stat.S_ISREG(file.stat().st_mode):  # some devices do something already when they are opened
        raise _unfit(file)
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise _unfit(file)
        pieces: list[bytes] = []
        left = most + 1
        while left > 0 and (piece := stream.read(min(left, _PIECE_BYTES))):
            pieces.append(piece)
            left -= len(piece)
    if left <= 0:
        raise OSError(errno.EFBIG, f"it has more than {most >> 20} MiB", str(file))
    return b"".join(pieces)


def _is_null_device(file: Path) -> bool:
    """Whether it is the device by which users say that they want no file: it is read as an empty one."""
    status = file.stat()
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == os.makedev(1, 3)


def _unfit(file: Path) -> OSError:
    if file.is_dir():
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    return OSError(
        errno.EINVAL, "it is no regular file; what comes through a pipe goes into a file first", str(file)
    )


def read_text(file: Path, most: int = MOST_BYTES) -> str:
    """The same as text; ends the command where there is none."""
    try:
        return read_bytes(file, most).decode("utf-8")
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {file}: it is no text") from error


def read_json(file: Path, otherwise: str) -> Any:
    """What the JSON in `file` says; ends the command where there is none: it `otherwise`, "is no report"."""
    try:
        return json_text.loads(read_bytes(file).decode("utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{file} {otherwise}: it is no text") from error
    except json_text.TextError as error:
        raise FileError(f"{file} {otherwise}: it {error}") from error


def require_own(file: Path, schema: str) -> None:
    """Ends the command where `file` holds something else than what would be written there: an older one of the same kind may
    be replaced, and so may an empty file."""
    _require_regular(file)
    try:
        text = read_bytes(file).decode("utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError):
        text = "?"
    try:
        found = json_text.loads(text) if text.strip() else {"schema": schema}
    except json_text.TextError:
        found = None
    if not isinstance(found, dict) or found.get("schema") != schema:
        raise UsageError(
            f"{file} is there and no {schema}: it is not overwritten; name another file, or remove it"
        )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
