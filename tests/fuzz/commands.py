#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""commands.py SECONDS [SEED]: commands under damaged files. Each ends with a result or a message: no traceback, nothing that
steers a terminal. A file that shows otherwise is kept in build/asan/fuzz: put it into a test."""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from unisono.commands.group import cli

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "build/asan/fuzz"
REPORT = ROOT / "tests/cli/fixtures/report.json"
# In the place of any value.
ODD: Sequence[Any] = (
    None,
    True,
    -1,
    0,
    1e308,
    10**30,
    "",
    "\x1b[2J\x07",
    "\u202eabc",
    "x" * 5000,
    [],
    {},
    [[]],
    {"a": []},
    "native",
)
RAW = (b"{", b"}", b"[" * 3000, b"Infinity", b"NaN", b"1e999", b'"a":1,"a":2,', b"\xff", b"\x00", b"", b",")


def damaged(value: Any, numbers: random.Random) -> bytes:
    """The value as JSON, with one to three changes."""
    copy = json.loads(json.dumps(value))
    for _ in range(numbers.randint(1, 3)):
        _change(copy, numbers)
    text = json.dumps(copy).encode()
    if numbers.random() < 0.3:
        at = numbers.randrange(len(text))
        text = text[:at] + numbers.choice(RAW) + text[at + numbers.randrange(4) :]
    return text


def _change(value: Any, numbers: random.Random) -> None:
    """Somewhere inside."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = numbers.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and numbers.random() < 0.8:
            value = inner
            continue
        if isinstance(value, dict) and numbers.random() < 0.2:
            del value[key]
        else:
            value[key] = deepcopy(numbers.choice(ODD))  # the next change may be inside it
        return


def problem(result: Result) -> str | None:
    """What a command must not do."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{type(result.exception).__name__}: {result.exception}"
    if any((c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" for c in result.output):
        return "control characters in the output"
    return None


def main() -> int:
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    print(f"fuzz: commands, seed {seed}", flush=True)
    numbers = random.Random(seed)
    report = json.loads(REPORT.read_text())
    table = {
        "schema": "unisono-table",
        "version": 1,
        "rules": [
            {"operation": "bcast", "bytes": [1, 64], "algorithm": "native", "time_us": 3.0, "samples": 4}
        ],
    }
    link = {"hockney": {"alpha_us": 40, "beta_us_per_byte": 2.6e-2}}
    machine = {
        "schema": "unisono-machine",
        "version": 1,
        "node": link,
        "network": link,
        "measured": {"mpi": "Open MPI 5", "layout": "1x2", "not_measured": ["network"], "is_steady": True},
        "findings": {
            "waits_us": {"yield": {"value": 10, "low": 9, "high": 11}},
            "buffers": [{"piece_bytes": 4096, "buffers": 4, "us": 2.5}],
            "operations": {"sender_put": {"bytes": [8, 4096], "us": [0.1, 0.4]}},
        },
    }
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file.json"
        cache = Path(folder) / "cache"
        tables = cache / "tables/m/n"
        tables.mkdir(parents=True)
        os.environ["UNISONO_CACHE"] = str(cache)
        page = str(file.with_suffix(".html"))
        cases: list[tuple[Any, list[str], Path]] = [
            (report, ["report", str(file)], file),
            (report, ["explain", str(file)], file),
            (report, ["report", str(file), "--html", page], file),
            (table, ["table", "show", str(file)], file),
            (table, ["cache", "show"], tables / "1x2.json"),
            (machine, ["machine", "show", str(file)], file),
        ]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            valid, words, place = numbers.choice(cases)
            place.write_bytes(damaged(valid, numbers))
            result = CliRunner().invoke(cli, words)
            runs[words[0]] = runs.get(words[0], 0) + 1
            if wrong := problem(result):
                KEPT.mkdir(parents=True, exist_ok=True)
                kept = KEPT / f"{words[0]}-{os.getpid()}.json"
                kept.write_bytes(place.read_bytes())
                print(f"fuzz: unisono {' '.join(words)}: {wrong}; the file is {kept}", file=sys.stderr)
                return 1
    print("fuzz: " + ", ".join(f"{count} times unisono {name}" for name, count in sorted(runs.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
