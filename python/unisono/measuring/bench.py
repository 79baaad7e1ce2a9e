# SPDX-License-Identifier: BSD-3-Clause
"""Native and Unisono side by side in one run: compiles and starts the benchmark program, and reads its samples."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unisono.common import extras, files, own_folder, places, sound
from unisono.common.errors import NotFoundError, UnisonoError, UsageError
from unisono.common.extras import numpy as np
from unisono.launch import launchers
from unisono.launch.process import cannot_start, started

ON_ONE_VECTOR = ("bcast", "reduce", "allreduce", "scan", "exscan")
_PARTS = (
    "measured_communicators.h",
    "host_library.h",
    "measured_operations.h",
    "measured_graph.h",
    "start.h",
    "job_place.h",
    "message_costs.h",
    "measuring_groups.h",
    "noise_looks.h",
    "looks.h",
    "series_samples.h",
    "settle.h",
    "servers.h",
    "batches.h",
    "compare.h",
    "served_requests.h",
    "command_line.h",
)
_COMPILE_TIMEOUT_S = 120
_RESAMPLINGS = 1000
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Candidate:
    """An algorithm that was tried. `tried_s` is the median of a few tries, seconds a call. Those that took
    part in the alternation also have the median of that, and how many times faster than native they are, both
    with the 95 % interval. They have the lower end of the interval of how many times faster they are than
    Unisono's own choice too."""

    name: str
    tried_s: float
    seconds: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    gain_low: float | None = None


@dataclass(frozen=True)
class Cell:
    """One operation at one size. It has medians in seconds a call (longest rank) with their 95 % intervals.
    It says how many times faster Unisono is, with the interval of the ratio of medians. `algorithm` is what
    Unisono chose by itself; `candidates` are sorted, the fastest first."""

    operation: str
    bytes: int
    ranks: int
    batch: int
    samples: int
    native_s: float
    unisono_s: float
    speedup: float
    speedup_low: float
    speedup_high: float
    is_same: bool
    algorithm: str = ""
    candidates: tuple[Candidate, ...] = ()
    native_low_s: float = 0.0
    native_high_s: float = 0.0
    unisono_low_s: float = 0.0
    unisono_high_s: float = 0.0

    @property
    def best(self) -> Candidate | None:
        """The fastest in the alternation."""
        measured = [c for c in self.candidates if c.seconds is not None]
        return min(measured, key=lambda c: c.seconds or 0, default=None)


class _Turns:
    """Series of samples that took turns. Some left before the others: their medians are put as if they had stayed, by what the
    longest series took meanwhile and takes in all. For intervals rounds are drawn anew (bootstrap), the same ones for all series, since what slows
    the machine for a while slows all."""

    def __init__(self, longest: np.ndarray, random: np.random.Generator) -> None:
        self._longest = longest
        self._random = random
        self._draws: dict[int, np.ndarray] = {}

    def _drawn(self, samples: np.ndarray, count: int) -> np.ndarray:
        """Medians of so many of the first rounds, drawn anew."""
        if count not in self._draws:
            self._draws[count] = self._random.integers(0, count, size=(_RESAMPLINGS, count))
        medians: np.ndarray = np.median(samples[self._draws[count]], axis=1)
        return medians

    def _scale(self, samples: np.ndarray) -> float:
        return float(np.median(self._longest) / np.median(self._longest[: len(samples)]))

    def median(self, samples: np.ndarray) -> float:
        return float(np.median(samples)) * self._scale(samples)

    def interval(self, samples: np.ndarray) -> tuple[float, float]:
        low, high = _inner(self._drawn(samples, len(samples)))
        return low * self._scale(samples), high * self._scale(samples)

    def ratio_interval(self, above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
        """Of the ratio of medians, in the rounds that both took part in."""
        count = min(len(above), len(below))
        return _inner(self._drawn(above, count) / self._drawn(below, count))


def _inner(drawn: np.ndarray) -> tuple[float, float]:
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def _samples(measured: Mapping[str, object], name: str) -> np.ndarray:
    return np.asarray(measured[name], dtype=float)


def _candidate(
    measured: Mapping[str, object], native: np.ndarray, unisono: np.ndarray, turns: _Turns
) -> Candidate:
    name, tried_s = str(measured["name"]), float(measured["tried_s"])  # type: ignore[arg-type]
    if "samples_s" not in measured:
        return Candidate(name, tried_s)
    samples = _samples(measured, "samples_s")
    low, high = turns.ratio_interval(native, samples)
    gain_low, _ = turns.ratio_interval(unisono, samples)
    seconds = turns.median(samples)
    speedup = turns.median(native) / seconds
    return Candidate(name, tried_s, seconds, speedup, low, high, *turns.interval(samples), gain_low)


def cell(measured: Mapping[str, Any], random: np.random.Generator) -> Cell:
    """The cell of one line of the benchmark program's output."""
    native, unisono = _samples(measured, "native_s"), _samples(measured, "unisono_s")
    tried = measured.get("candidates", ())
    others = [_samples(entry, "samples_s") for entry in tried if "samples_s" in entry]
    turns = _Turns(max([native, unisono, *others], key=len), random)
    low, high = turns.ratio_interval(native, unisono)
    native_low, native_high = turns.interval(native)
    unisono_low, unisono_high = turns.interval(unisono)
    return Cell(
        native_low_s=native_low,
        native_high_s=native_high,
        unisono_low_s=unisono_low,
        unisono_high_s=unisono_high,
        operation=str(measured["operation"]),
        bytes=int(measured["bytes"]),
        ranks=int(measured["ranks"]),
        batch=int(measured["batch"]),
        samples=len(native),
        native_s=turns.median(native),
        unisono_s=turns.median(unisono),
        speedup=turns.median(native) / turns.median(unisono),
        speedup_low=low,
        speedup_high=high,
        is_same=bool(measured["is_same"]),
        algorithm=str(measured.get("unisono", "")),
        candidates=tuple(_candidate(entry, native, unisono, turns) for entry in tried),
    )


def ratio_interval(
    native: np.ndarray, unisono: np.ndarray, random: np.random.Generator
) -> tuple[float, float]:
    """Bootstrap interval of median(native) / median(unisono). The samples alternate in time, so pairs are drawn
    together: what slows the machine for a while slows both."""
    return _Turns(native, random).ratio_interval(native, unisono)


def geometric_mean(cells: Sequence[Cell]) -> float:
    return float(np.exp(np.mean([np.log(c.speedup) for c in cells])))


def source(name: str = "collectives.c") -> Path:
    """A benchmark program: part of the source tree, or of an installation."""
    root = Path(__file__).resolve().parents[3]
    folders = [root / "src/measure", root / "benchmarks", *(home.programs for home in places.candidates())]
    for folder in folders:
        path = folder / name
        if path.is_file():
            return path
    looked = ", ".join(map(str, folders))
    raise UnisonoError(f"the benchmark program's source, {name}, was not found in: {looked}")


def compiler_beside(launcher: str) -> Path:
    """The C compiler of the MPI that `launcher` belongs to: its neighbour, with the same suffix (mpirun.openmpi ->
    mpicc.openmpi)."""
    found = shutil.which(launcher)
    path = Path(found or launcher)
    suffix = "." + path.name.split(".", 1)[1] if "." in path.name and not path.name.endswith(".hydra") else ""
    for name in (f"mpicc{suffix}", "mpicc"):
        for folder in (path.parent, path.resolve().parent):
            if os.access(folder / name, os.X_OK):
                return folder / name
    raise UnisonoError(f"no mpicc was found beside {path}; name it with --mpicc")


def compile_program(compiler: Path, cache: Path | None = None, name: str = "collectives.c") -> Path:
    """A benchmark program for this MPI, from the user's cache directory where it was compiled before."""
    code = b"".join(source(part).read_bytes() for part in (name, *_PARTS))
    folder = cache or places.cache() / "bench"
    key = hashlib.sha256(code + str(compiler.resolve()).encode() + str(compiler.stat().st_mtime_ns).encode())
    program = folder / key.hexdigest()[:16] / Path(name).stem
    if program.is_file():
        for own in (folder, program.parent, program):
            own_folder.require_own(own)  # it is going to run as this user
        return program
    try:
        if cache is None:
            own_folder.make(places.cache())
        own_folder.make(program.parent)
        _compile(compiler, name, program)
    except OSError as error:
        raise UnisonoError(
            f"cannot keep the compiled benchmark program in {program.parent}: {error.strerror}; let UNISONO_CACHE or XDG_CACHE_HOME name one that "
            "can be written"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise UnisonoError(
            f"{compiler} took more than {_COMPILE_TIMEOUT_S} s for the benchmark program"
        ) from error
    return program


def _compile(compiler: Path, name: str, program: Path) -> None:
    """Elsewhere first, so that nobody finds half of it."""
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        made = Path(scratch) / program.name
        library = compiler.parent.parent / "lib"
        command = [
            str(compiler),
            "-O2",
            f"-I{source().parent}",
            "-o",
            str(made),
            str(source(name)),
            "-ldl",
            "-lm",
        ]
        command.append(f"-Wl,-rpath,{library}")
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_COMPILE_TIMEOUT_S, check=False
            )
        except OSError as error:
            raise cannot_start(str(compiler), error) from error
        if done.returncode != 0:
            raise UnisonoError(f"{compiler} could not compile the benchmark program:\n{done.stderr.strip()}")
        made.replace(program)


def command_line(
    launcher: Sequence[str],
    settings: Mapping[str, str],
    program_options: Sequence[str],
    compiler: Path | None = None,
    name: str = "collectives.c",
) -> list[str]:
    """The launcher's words with a benchmark program behind them, in each of its sections, under Unisono."""
    # What is measured is what Unisono does with communicators that are used for long.
    settings = {"UNISONO_SET_UP_AFTER": "0", "UNISONO_LEARN": "off", **settings}
    return launchers.with_unisono(plain_command_line(launcher, name, program_options, compiler), settings)


def _calls_mpi(program: str) -> bool:
    """Whether it is compiled and starts an MPI by itself; what only starts others may stand before the program that measures."""
    file = shutil.which(program)
    try:
        text = files.read_bytes(Path(file)) if file else b""
    except OSError:
        return False
    return text.startswith(b"\x7fELF") and re.search(rb"\0(MPI_Init(_thread)?|mpi_init_)\0", text) is not None


def plain_command_line(
    launcher: Sequence[str], name: str, program_options: Sequence[str], compiler: Path | None = None
) -> list[str]:
    """The same with any of the benchmark programs, and without Unisono."""
    extras.require("models")
    read = launchers.read(launcher)
    position = read.position
    first = launcher[position or 0]
    if shutil.which(first) is None:
        raise NotFoundError(f"{first}: the launcher was not found; is it in PATH?")
    if read.program and _calls_mpi(read.program[0]):
        bare = shlex.join(launcher[: len(launcher) - len(read.program)])
        raise UsageError(
            f"{read.program[0]} is an MPI program, and what is measured here is a program of Unisono's own: leave it out: {bare}"
        )
    if position is None and compiler is None:
        raise UnisonoError(
            f"{first} is no launcher that is known here: give one and its options, for example: mpirun -n 4; or name the MPI's "
            "compiler with --mpicc"
        )
    program = compile_program(compiler or compiler_beside(first), name=name)
    started = [str(program), *program_options]
    words: list[str] = []
    for word in launcher:
        words += [*started, word] if word == ":" else [word]
    return [*words, *started]


def measure(command: Sequence[str], on_cell: Callable[[Cell], None], seed: int = 0) -> tuple[list[Cell], int]:
    """Run the command and read its samples; `on_cell` is called as each cell arrives. The cells, and the exit status."""
    random = np.random.default_rng(seed)
    cells: list[Cell] = []
    with started(command) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not line.startswith('{"operation"'):
                continue
            cells.append(cell(json.loads(line), random))
            on_cell(cells[-1])
    return cells, process.returncode


def as_rows(cells: Sequence[Cell]) -> list[dict[str, object]]:
    return [asdict(c) for c in cells]


def from_row(row: Mapping[str, Any]) -> Cell:
    """The cell that `as_rows` has made a row of, also by way of JSON."""
    made = Cell(**{**row, "candidates": tuple(Candidate(**c) for c in row["candidates"])})
    for part in (made, *made.candidates):
        sound.require(part)
    return made
