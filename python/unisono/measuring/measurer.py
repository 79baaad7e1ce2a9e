# SPDX-License-Identifier: BSD-3-Clause
"""A job of the benchmark program that measures what it is asked: tuning decides as it goes what to look at next."""

from __future__ import annotations

import json
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from types import TracebackType
from typing import IO, Any

from unisono.common.budget import Budget
from unisono.common.errors import UnisonoError
from unisono.common.extras import numpy as np
from unisono.launch.process import cannot_start, ends_with_us
from unisono.measuring import bench

_STARTING_TIMEOUT_S = 120
_LEAST_ANSWER_TIMEOUT_S = 60
_MOST_OVERTIME_S = 10  # of an answer, beyond the whole budget
_MOST_TIMEOUT_S = 2_000_000  # milliseconds of it are an int
# Open MPI 5's launcher delivers no more than the first 4 KiB of a line where rank 0 is on another node than the launcher.
_MOST_REQUEST_BYTES = 3000


_LIBRARIES = (("Open MPI v", "Open MPI"), ("Intel(R) MPI Library ", "Intel MPI"), ("MPICH Version:", "MPICH"))


def mpi_name(library: str) -> str:
    """What MPI_Get_library_version begins with, as reports and tables have it: `MPICH Version:      5.0.2` -> `MPICH 5.0.2`."""
    for prefix, name in _LIBRARIES:
        if library.startswith(prefix):
            return " ".join([name, *library.removeprefix(prefix).split()[:1]])
    return " ".join(library.split())


@dataclass(frozen=True)
class Place:
    """What is measured on: MPI, ranks, nodes, and the fewest and most ranks on a node, of the communicator."""

    mpi: str
    ranks: int
    nodes: int
    ranks_per_node: tuple[int, int]
    is_consecutive: bool
    cores: int = 0  # that the ranks of a node may use; 0: not known
    nodes_on_cores: int = 1  # nodes that share those cores: containers, emulated nodes
    ranks_of_nodes: tuple[int, ...] = ()  # of each node, where they differ
    # Where not the whole job is measured: whether all communicators that are have that layout, and the job's own.
    is_uniform: bool = True
    job: tuple[int, int, int] | None = None  # nodes, fewest and most ranks on one; None: the same

    @property
    def of_job(self) -> Place:
        """Of the whole job, which is what shares the cores."""
        if self.job is None:
            return self
        nodes, least, most = self.job
        return replace(self, nodes=nodes, ranks_per_node=(least, most), job=None)

    @property
    def most_on_cores(self) -> int:
        """Ranks that share a set of cores, where all nodes that do are as full as the fullest."""
        return self.ranks_per_node[1] * self.nodes_on_cores

    def is_like(self, other: Place) -> bool:
        """Do decisions for one hold for the other?"""
        parts = attrgetter("ranks", "nodes", "ranks_per_node", "ranks_of_nodes", "is_consecutive")
        return bool(parts(self) == parts(other))

    @property
    def layout(self) -> str:
        """`4x4`, or `3 nodes, 2 to 5 ranks each` where nodes hold different numbers."""
        least, most = self.ranks_per_node
        return (
            f"{self.nodes}x{most}" if least == most else f"{self.nodes} nodes, {least} to {most} ranks each"
        )

    @property
    def predicted_layout(self) -> str:
        """As `unisono predict` takes it: `4x4`, `3,5,8`, `4x4/cyclic` where a node's ranks do not follow each other."""
        least, most = self.ranks_per_node
        text = f"{self.nodes}x{most}" if least == most else ",".join(map(str, self.ranks_of_nodes))
        return text if self.is_consecutive else f"{text}/cyclic"


class JobError(UnisonoError):
    """The job ended, or gave no answer in time, while it measured `candidates`."""

    def __init__(self, text: str, candidates: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.candidates = tuple(candidates)


def _portions(operation: str, candidates: Sequence[str]) -> Iterator[list[str]]:
    """The candidates in lists that fit into a request each."""
    portion: list[str] = []
    length = 0
    for name in candidates:
        own = len(operation) + len(name) + 2
        if portion and length + own > _MOST_REQUEST_BYTES:
            yield portion
            portion, length = [], 0
        portion.append(name)
        length += own
    if portion:
        yield portion


def _job_of(first: Mapping[str, Any]) -> tuple[int, int, int] | None:
    job = (first.get("job_nodes", first["nodes"]), *first.get("job_ranks_per_node", first["ranks_per_node"]))
    return None if job == (first["nodes"], *first["ranks_per_node"]) else job


class Measurer:
    """The job, as a context. `command` starts the benchmark program with --serve. No answer is waited for much longer than `budget`
    lasts."""

    def __init__(self, command: Sequence[str], seed: int = 0, budget: Budget | None = None) -> None:
        self._random = np.random.default_rng(seed)
        self._budget = budget
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                preexec_fn=ends_with_us(),  # noqa: PLW1509 - it calls one function, found before
            )
        except OSError as error:
            raise cannot_start(command[0], error) from error
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        self._unread = b""
        try:
            first = self._answer(_STARTING_TIMEOUT_S, ())
        except BaseException:
            self._end()
            raise
        if not first["is_active"]:
            self._end()
            raise UnisonoError(
                "the measuring job does not run under Unisono: the launcher's words were not understood "
                "(`unisono run --dry-run --verbose` shows how)"
            )
        self.place = Place(
            mpi_name(first["mpi"]),
            first["ranks"],
            first["nodes"],
            (first["ranks_per_node"][0], first["ranks_per_node"][1]),
            first["is_consecutive"],
            first.get("cores", 0),
            first.get("nodes_on_cores", 1),
            tuple(first.get("ranks_of_nodes", ())),
            first.get("is_uniform", True),
            _job_of(first),
        )

    def __enter__(self) -> Measurer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def choice(self, operation: str, size: int) -> str:
        """What Unisono chooses by itself."""
        return str(self._ask("choice", operation, size, (), 0.0)["unisono"])

    def able(self, operation: str, size: int, candidates: Sequence[str]) -> list[str]:
        """Those that may run here; nothing is measured."""
        return [
            str(name)
            for portion in _portions(operation, candidates)
            for name in self._ask("able", operation, size, portion, 0.0)["able"]
        ]

    def look(
        self, operation: str, size: int, candidates: Sequence[str], seconds: float, is_alike: bool = False
    ) -> list[tuple[str, float]]:
        """Names and seconds a call of those that may run and were reached in time, the fastest first. What turns out to be
        slow is cut short, unless all are to be measured alike."""
        until = time.monotonic() + seconds
        looked: list[tuple[str, float]] = []
        for portion in _portions(operation, candidates):
            left_s = until - time.monotonic()
            if looked and left_s <= 0:
                break
            answer = self._ask(
                "look_alike" if is_alike else "look", operation, size, portion, max(left_s, 0.0)
            )
            looked += [(entry["name"], entry["tried_s"]) for entry in answer["looked"]]
        return sorted(looked, key=lambda one: one[1])

    def compare(self, operation: str, size: int, candidates: Sequence[str], seconds: float) -> bench.Cell:
        """Native, Unisono's choice and the candidates (at most 8) in turn, until all medians are known well."""
        return bench.cell(self._ask("compare", operation, size, candidates, seconds), self._random)

    def decide(self, operation: str, size: int, candidates: Sequence[str], seconds: float) -> bench.Cell:
        """The same until it is known which is the fastest; what is behind takes no further part."""
        return bench.cell(self._ask("decide", operation, size, candidates, seconds), self._random)

    def cost(
        self, what: str, size: int, group: str, buffers: int, wait: str, seconds: float
    ) -> dict[str, np.ndarray]:
        """Samples of a message or an operation on shared memory, in seconds, by their names (src/measure/
        message_costs.h); none where the group of ranks is not to be had."""
        answer = self._request(
            ["cost", what, str(size), f"{seconds:.3f}", f"{group},{buffers},{wait}"], seconds, ()
        )
        return {name: np.asarray(samples, dtype=float) for name, samples in answer["series"].items()}

    def noise(self, seconds: float) -> list[dict[str, Any]]:
        """What took each rank's core away in so long: `length_us`, `quantum_us`, `begins_us`, `us` (src/measure/
        noise_looks.h)."""
        recorded: list[dict[str, Any]] = self._request(
            ["noise", "-", "0", f"{seconds:.3f}", ""], seconds, ()
        )["noise"]
        return recorded

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _ask(
        self, verb: str, operation: str, size: int, candidates: Sequence[str], seconds: float
    ) -> dict[str, Any]:
        words = [
            verb,
            operation,
            str(size),
            f"{seconds:.3f}",
            ";".join(f"{operation}:{c}" for c in candidates),
        ]
        return self._request(words, seconds, candidates)

    def _request(self, words: Sequence[str], seconds: float, candidates: Sequence[str]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(("\t".join(words) + "\n").encode())
        except OSError as error:
            raise JobError("the measuring job has ended", candidates) from error
        timeout_s = _LEAST_ANSWER_TIMEOUT_S + 5 * seconds
        if self._budget is not None:
            timeout_s = min(timeout_s, max(0.0, self._budget.left_s) + _MOST_OVERTIME_S)
        return self._answer(timeout_s, candidates)

    def _answer(self, timeout_s: float, candidates: Sequence[str]) -> dict[str, Any]:
        """The next line that is an answer: launchers and MPIs may print others."""
        while True:
            while b"\n" not in self._unread:
                if not self._selector.select(min(timeout_s, _MOST_TIMEOUT_S)):
                    raise JobError(f"the measuring job gave no answer in {timeout_s:.0f} s", candidates)
                data = self._output.read(1 << 16)
                if not data:
                    raise JobError("the measuring job has ended", candidates)
                self._unread += data
            line, _, self._unread = self._unread.partition(b"\n")
            if line.startswith(b"{"):
                answer: dict[str, Any] = json.loads(line)
                return answer

    def _end(self) -> None:
        """Let the job end by itself where it can, else end it."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"end\n")
            self._process.stdin.close()
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._selector.close()
        self._output.close()
