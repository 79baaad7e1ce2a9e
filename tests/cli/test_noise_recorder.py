# SPDX-License-Identifier: BSD-3-Clause
"""How the benchmark finds what takes a core away (src/measure/noise_looks.h), by a clock that only looks at it move."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from conftest import compiled_with_benchmarks
from unisono.common.errors import UnisonoError
from unisono.machine import noise
from unisono.measuring.measurer import Measurer, Place

# Each rank is a run of its own, in turn; what the ones behind send is read by the first. In place of an MPI.
MPI = """
#pragma once
#include <string.h>
enum { MPI_COMM_WORLD, MPI_DOUBLE, MPI_MAX, MPI_STATUS_IGNORE };
static void MPI_Abort(int comm, int code) { (void)comm, exit(code); }
static void MPI_Barrier(int comm) { (void)comm; }
static void MPI_Bcast(void* data, int count, int type, int root, int comm) {
  (void)data, (void)count, (void)type, (void)root, (void)comm;
}
static void MPI_Allreduce(const double* from, double* into, int count, int type, int op, int comm) {
  (void)count, (void)type, (void)op, (void)comm;
  *into = *from;
}
static void MPI_Send(const void* data, int count, int type, int to, int tag, int comm) {
  (void)type, (void)to, (void)tag, (void)comm;
  fwrite(&count, sizeof count, 1, stderr);
  fwrite(data, sizeof(double), (size_t)count, stderr);
}
static void MPI_Recv(void* data, int most, int type, int from, int tag, int comm, int status) {
  (void)type, (void)from, (void)tag, (void)comm, (void)status;
  int count = 0;
  if (fread(&count, sizeof count, 1, stdin) != 1 || count > most) exit(4);
  if (fread(data, sizeof(double), (size_t)count, stdin) != (size_t)count) exit(4);
}
"""
# Its arguments are the rank, the ranks, the seconds to record, and pairs: when something takes the core, and for how long.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
static int world_rank, world_size, everybody;
static const double look_s = 50e-9;
static double clock_s = 1000, (*taken)[2];
static int left;
static double now_s(void) {
  clock_s += look_s;
  for (; left > 0 && clock_s >= 1000 + (*taken)[0]; --left, ++taken) clock_s += (*taken)[1];
  return clock_s;
}
struct Operation { void (*run)(int bytes); };
static void enable(int is) { (void)is; }
#include "noise_looks.h"
int main(int argc, char** argv) {
  world_rank = atoi(argv[1]), world_size = atoi(argv[2]);
  left = (argc - 4) / 2;
  double (*all)[2] = taken = malloc((size_t)(left + 1) * sizeof *taken);
  for (int i = 0; i < left; ++i) taken[i][0] = atof(argv[4 + 2 * i]), taken[i][1] = atof(argv[5 + 2 * i]);
  const int is_answered = answer_noise(atof(argv[3]));
  free(all);
  return is_answered ? 0 : 1;
}
"""
LOOK_US = 0.05
SETTLING_US = 1000  # of which nothing is recorded
Taken = list[tuple[float, float]]
Ranks = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    folder = tmp_path_factory.mktemp("noise")
    (folder / "mpi.h").write_text(MPI)
    # Compilers look for <mpi.h> where the variable says.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("C_INCLUDE_PATH", str(folder))
        program = compiled_with_benchmarks(folder, "noise", PROGRAM)

    def run(recorded_us: float, *ranks: Taken) -> list[dict[str, Any]]:
        """What the ranks record, where their cores are taken at these times for so long, in us."""

        def one(rank: int, received: bytes) -> subprocess.CompletedProcess[bytes]:
            words = [str(rank), str(len(ranks)), repr(recorded_us * 1e-6)]
            words += [repr(us * 1e-6) for pair in ranks[rank] for us in pair]
            return subprocess.run(
                [program, *words], input=received, capture_output=True, check=True, timeout=60
            )

        sent = b"".join(one(rank, b"").stderr for rank in range(1, len(ranks)))
        found: list[dict[str, Any]] = json.loads(one(0, sent).stdout)["noise"]
        return found

    return run


def test_detours_are_found_where_they_are(record: Ranks) -> None:
    """Not those before the recording begins, and not what is as short as a slow look."""
    taken = [(500, 40), (1100, 30), (1500, 0.3), (2000, 1), (2100, 250), (9e9, 7)]
    (found,) = record(3000, taken)
    assert found["quantum_us"] == pytest.approx(LOOK_US, rel=0.01)
    # The clock begins to count as the recording does, later by what went on before.
    begin = SETTLING_US + LOOK_US
    expected = [(at - begin, us) for at, us in taken if us in (30, 1, 250)]
    assert found["begins_us"] == pytest.approx([at for at, _ in expected], abs=3 * LOOK_US)
    assert found["us"] == pytest.approx([us for _, us in expected], abs=0.01)
    assert 3000 <= found["length_us"] <= 3000 + 2 * LOOK_US


def test_a_quiet_core_has_none(record: Ranks) -> None:
    (found,) = record(1000, [])
    assert (found["begins_us"], found["us"]) == ([], [])


def test_ranks_are_in_their_order(record: Ranks) -> None:
    found = record(2000, [(1200, 5)], [], [(1300, 6), (1400, 7)])
    assert [one["us"] for one in found] == [pytest.approx(us, abs=0.01) for us in ([5], [], [6, 7])]
    assert found[2]["begins_us"][0] == pytest.approx(1300 - SETTLING_US, abs=1)


def test_a_recording_ends_where_it_is_full(record: Ranks) -> None:
    """120,000 detours of all ranks: of 50 ranks the first has 2400, and its recording ends with the last of them."""
    busy = [(1001.0 + 2 * number, 1.0) for number in range(2500)]
    first, *others = record(1e5, busy, *([[]] * 49))
    assert len(first["us"]) == len(first["begins_us"]) == 2400
    assert first["length_us"] == pytest.approx(first["begins_us"][-1] + first["us"][-1], abs=3 * LOOK_US)
    assert all(one["length_us"] >= 1e5 for one in others)


@dataclass
class Job:
    """A job that has recorded nothing yet."""

    place: Place
    asked: list[float] = field(default_factory=list)

    def noise(self, seconds: float) -> list[noise.Recording]:
        self.asked.append(seconds)
        return [{"length_us": seconds * 1e6, "quantum_us": 0.05, "begins_us": [], "us": []}]


def recorded(place: Place, seconds: float) -> tuple[Job, list[float]]:
    """And what shares of the time were said to be over."""
    job, shares = Job(place), list[float]()
    noise.record(cast("Measurer", job), seconds, shares.append)
    return job, shares


@pytest.fixture(autouse=True)
def _cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has four."""
    monkeypatch.setattr("unisono.machine.measuring.usable_cores", lambda: 4)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (Place("Test MPI", 5, 1, (5, 5), True, 4), "5 ranks share 4 cores"),
        (Place("Test MPI", 3, 1, (3, 3), True, 2), "3 ranks share 2 cores"),
        (Place("Test MPI", 6, 2, (3, 3), True, 4, nodes_on_cores=2), "6 ranks share 4 cores"),
    ],
)
def test_ranks_that_share_cores_are_refused(place: Place, said: str) -> None:
    job = Job(place)
    with pytest.raises(UnisonoError, match=f"{said}: they would record each other; start one rank a core"):
        noise.record(cast("Measurer", job), 10, lambda _: None)
    assert job.asked == []


def test_a_rank_a_core_records_in_slices_of_a_second() -> None:
    job, shares = recorded(Place("Test MPI", 4, 1, (4, 4), True, 4), 2.5)
    assert job.asked == [1.25, 1.25] and shares == [0.5, 1.0]
    job, _ = recorded(Place("Test MPI", 16, 4, (4, 4), True, 4), 0.2)
    assert job.asked == [0.2]
