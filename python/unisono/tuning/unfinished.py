# SPDX-License-Identifier: BSD-3-Clause
"""What interrupted searches have left beside the table that they were to write: their cells, each with the question that it
answers. A search goes on only with cells of its own question; those of others stay for whoever asks that again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unisono.common import files, json_text, sound
from unisono.common.errors import UnisonoError
from unisono.measuring import bench
from unisono.tuning.results import Outcome

Question = Mapping[str, Any]  # by the names of its parts; two are the same where all parts are
Cell = tuple[str, int]  # operation and bytes
_VERSION = 3


# What reading ends with where parts are missing, or are something else.
_DAMAGES = (ValueError, KeyError, TypeError, AttributeError)


class _OfAnotherVersionError(Exception):
    pass


class Unfinished:
    """The file `.TABLE.progress` of a table."""

    def __init__(self, table: Path) -> None:
        self.file = table.with_name(f".{table.name}.progress")

    def forget(self) -> None:
        try:
            self.file.unlink(missing_ok=True)
        except OSError as error:
            raise UnisonoError(f"cannot remove {self.file}: {error.strerror}") from error

    def cells(self, question: Question) -> list[Outcome]:
        """Those of this question."""
        return [
            _outcome(entry)
            for search in self._searches()
            if search["question"] == _plain(question)
            for entry in search["outcomes"]
        ]

    def damage(self) -> str | None:
        """What is wrong with the file, so that nothing of it is used; None: nothing, or there is none."""
        try:
            self._read()
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"cannot be read ({error.strerror})"
        except _OfAnotherVersionError:
            return "is of another version"
        except _DAMAGES:
            return "is damaged"
        return None

    def others(self, question: Question) -> list[tuple[int, list[str]]]:
        """Of each search for something else: how many cells it has left, and the parts in which its question differs."""
        asked = _plain(question)
        return [
            (len(search["outcomes"]), [part for part in asked if search["question"].get(part) != asked[part]])
            for search in self._searches()
            if search["question"] != asked
        ]

    def keep(self, question: Question, outcomes: Sequence[Outcome]) -> None:
        """In the place of what was kept of this question."""
        self._write(question, [asdict(outcome) for outcome in outcomes])

    def drop(self, question: Question, done: Collection[Cell]) -> None:
        """Cells of this question that stand in the table now."""
        left = [asdict(o) for o in self.cells(question) if (o.operation, o.bytes) not in done]
        self._write(question, left)

    def _searches(self) -> list[dict[str, Any]]:
        try:
            return self._read()
        except (OSError, _OfAnotherVersionError, *_DAMAGES):
            return []  # it is measured again

    def _read(self) -> list[dict[str, Any]]:
        """The searches, of which every part is there."""
        kept = json_text.loads(files.read_bytes(self.file).decode())
        if kept["version"] != _VERSION:
            raise _OfAnotherVersionError
        for search in kept["searches"]:
            search["question"].keys()
            for entry in search["outcomes"]:
                _outcome(entry)
        return list(kept["searches"])

    def _write(self, question: Question, outcomes: list[dict[str, Any]]) -> None:
        asked = _plain(question)
        searches = [search for search in self._searches() if search["question"] != asked]
        searches += [{"question": asked, "outcomes": outcomes}] if outcomes else []
        if searches:
            files.write_whole(self.file, json.dumps({"version": _VERSION, "searches": searches}))
        else:
            self.forget()


def _outcome(entry: Mapping[str, Any]) -> Outcome:
    made = Outcome(**dict(entry) | {"cell": bench.from_row(entry["cell"])})
    sound.require(made)
    return made


def _plain(question: Question) -> dict[str, Any]:
    """As JSON gives it back."""
    plain: dict[str, Any] = json.loads(json.dumps(question))
    return plain
