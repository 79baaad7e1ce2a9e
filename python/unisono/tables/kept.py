# SPDX-License-Identifier: BSD-3-Clause
"""What is kept in the cache directory: what jobs have learned, their crashes, machines, compiled benchmark programs."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unisono.common import files, json_text, own_folder, places
from unisono.common.errors import UnisonoError

_LOCK = ".lock"  # src/tuning/tables/table_store.h
_MOST_RECORDS_BYTES = 4 << 20
_DAY_S = 86_400


@dataclass(frozen=True)
class Kept:
    """A file, or the folder of a program."""

    what: str  # "learned", "crashes", "machine", "benchmark", "damaged"
    path: Path
    bytes: int
    changed: float  # seconds since 1970
    count: int | None  # rules or records; None: it has none
    operations: tuple[str, ...] = ()

    @property
    def days(self) -> int:
        return max(0, int((time.time() - self.changed) // _DAY_S))

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "path": str(self.path),
            "bytes": self.bytes,
            "changed": time.strftime("%Y-%m-%d", time.gmtime(self.changed)),
            "days": self.days,
            "count": self.count,
            "operations": list(self.operations),
        }


def folder() -> Path:
    """The cache directory; ends the command where it is another user's."""
    path = places.cache()
    own_folder.require_own(path)
    return path


def found(cache: Path) -> list[Kept]:
    """All that is kept, without what is not the command's own."""
    kept = [_table(file) for file in sorted(cache.glob("tables/*/*/*.json"))]
    kept += [_one("damaged", file) for file in sorted(cache.glob("tables/*/*/*.damaged"))]
    kept += [_crashes(file) for file in sorted(cache.glob("crashes.jsonl"))]
    kept += [_one("machine", file) for file in sorted(cache.glob("machines/*.json"))]
    kept += [
        _program(path) for path in sorted(cache.glob("bench/*")) if path.is_dir() and not path.is_symlink()
    ]
    return kept


def mpis(cache: Path) -> list[str]:
    """Under which MPIs jobs have learned, the latest first: `Open MPI 5.0.11`."""
    tables = sorted(
        (one for one in found(cache) if one.what == "learned"), key=lambda one: one.changed, reverse=True
    )
    read = [_table_in(one.path) or {} for one in tables]
    names = [table["provenance"].get("mpi") for table in read if isinstance(table.get("provenance"), dict)]
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def clear_all(cache: Path) -> list[Kept]:
    """Removes what is kept; gives it."""
    gone = found(cache)
    for kept in gone:
        with own_folder.lock(kept.path.parent, _lock_of(kept)):
            try:
                if kept.what == "benchmark":
                    shutil.rmtree(kept.path)
                else:
                    kept.path.unlink(missing_ok=True)
            except OSError as error:
                raise UnisonoError(f"cannot remove {kept.path}: {error.strerror}") from error
    return gone


def clear_operation(cache: Path, operation: str) -> int:
    """Removes rules and records of the operation; gives their number."""
    return _clear(cache, lambda row: row.get("operation") == operation, with_tables=True)


def clear_program(cache: Path, program: str) -> int:
    """Removes the records of a program, which alone are kept by programs; gives their number."""
    return _clear(cache, lambda row: row.get("program") == program, with_tables=False)


def _clear(cache: Path, goes: Callable[[dict[str, Any]], bool], *, with_tables: bool) -> int:
    removed = 0
    for kept in found(cache):
        if not (kept.what == "crashes" or (kept.what == "learned" and with_tables)):
            continue
        with own_folder.lock(kept.path.parent, _lock_of(kept)):
            if kept.what == "learned":
                table = _table_in(kept.path)
                if table is None:
                    continue
                left = [rule for rule in table["rules"] if not (isinstance(rule, dict) and goes(rule))]
                count = len(table["rules"]) - len(left)
                text = _table_text(table | {"rules": left}) if left else ""
            else:
                lines = _lines(kept.path)
                left = [line for line in lines if not goes(_row(line))]
                count = len(lines) - len(left)
                text = "".join(f"{line}\n" for line in left)
            if count:
                _replace(kept.path, text)
            removed += count
    return removed


def _replace(path: Path, text: str) -> None:
    if text:
        files.write_whole(path, text, own=True)
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise UnisonoError(f"cannot remove {path}: {error.strerror}") from error


def _lock_of(kept: Kept) -> str:
    return f"{kept.path.name}.lock" if kept.what == "crashes" else _LOCK


def _one(what: str, path: Path, count: int | None = None, operations: tuple[str, ...] = ()) -> Kept:
    status = path.lstat()
    return Kept(what, path, status.st_size, status.st_mtime, count, operations)


def _table(file: Path) -> Kept:
    table = _table_in(file)
    if table is None:
        return _one("damaged", file)
    names = {str(rule.get("operation")) for rule in table["rules"] if isinstance(rule, dict)}
    return _one("learned", file, len(table["rules"]), tuple(sorted(names)))


def _table_in(file: Path) -> dict[str, Any] | None:
    try:
        table = json_text.loads(files.read_bytes(file).decode())
    except (OSError, ValueError):
        return None
    return table if isinstance(table, dict) and isinstance(table.get("rules"), list) else None


def _table_text(table: dict[str, Any]) -> str:
    """A rule on each line, as jobs write it."""
    rules = ",\n".join(f"  {json.dumps(rule, ensure_ascii=False)}" for rule in table["rules"])
    head = "".join(f" {json.dumps(key)}: {json.dumps(table[key])},\n" for key in table if key != "rules")
    return f'{{\n{head} "rules": [\n{rules}\n ]\n}}\n'


def _crashes(file: Path) -> Kept:
    rows = [_row(line) for line in _lines(file)]
    names = {str(row["operation"]) for row in rows if "operation" in row}
    return _one("crashes", file, len(rows), tuple(sorted(names)))


def _lines(file: Path) -> list[str]:
    try:
        text = files.read_bytes(file, _MOST_RECORDS_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.split("\n") if line]


def _row(line: str) -> dict[str, Any]:
    try:
        row = json_text.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


def _program(path: Path) -> Kept:
    inner = [file.lstat() for file in path.rglob("*")]
    changed = max([path.lstat().st_mtime, *(status.st_mtime for status in inner)])
    return Kept("benchmark", path, sum(status.st_size for status in inner), changed, None)
