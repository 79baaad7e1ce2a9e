# SPDX-License-Identifier: BSD-3-Clause
"""The example programs: their checks hold, can fail, and do not depend on how many ranks share the work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import job
import mpis
import pytest
from demonstration.comparison import compare
from harness import Runner
from mpis import ROOT, Mpi

pytestmark = pytest.mark.each_library

HEAT = ROOT / "examples/heat/heat.py"
NBODY_STEPS = ["--steps", "40"]
HEAT_STEPS = ["--cells", "22", "--steps", "8", "--time-step", "0.05"]

Result = dict[str, Any]
REFERENCES: dict[str, Result] = {}


def result_of(finished: job.Result, file: Path, ranks: int) -> Result:
    finished.check()
    result: Result = json.loads(file.read_text())
    assert result["ranks"] == ranks, str(finished)
    return result


@pytest.fixture
def nbody(runner: Runner, nbody_of: Callable[[Mpi], Path], tmp_path: Path) -> Callable[..., Result]:
    """Runs nbody and returns its result; `is_under_unisono` puts the exec shim before it."""

    def run(mpi: Mpi, ranks: int, *options: str, is_under_unisono: bool = False) -> Result:
        file = tmp_path / "nbody.json"
        start = runner.unisono if is_under_unisono else runner.run
        return result_of(start(mpi, ranks, [nbody_of(mpi), *options, "--json", file]), file, ranks)

    return run


@pytest.fixture
def heat(runner: Runner, python: str, tmp_path: Path) -> Callable[..., Result]:
    """Runs heat and returns its result."""

    def run(mpi: Mpi, ranks: int, *options: str, is_under_unisono: bool = False) -> Result:
        file = tmp_path / "heat.json"
        start = runner.unisono if is_under_unisono else runner.run
        command = [python, HEAT, *options, "--json", file]
        return result_of(start(mpi, ranks, command, runner.python(mpi)), file, ranks)

    return run


@pytest.fixture(scope="session")
def reference_mpi() -> Mpi:
    """One MPI for what does not depend on the MPI."""
    return next((mpi for mpi in mpis.ALL if mpi.is_installed and mpi.has_mpi4py), mpis.ALL[0])


def assert_same(results: list[Result]) -> None:
    found = compare(results[:1], results[1:])
    assert found.is_same, found


@pytest.fixture
def nbody_reference(nbody: Callable[..., Result], reference_mpi: Mpi) -> Result:
    """The result of one rank, which all others are to give; run once."""
    if "nbody" not in REFERENCES:
        REFERENCES["nbody"] = nbody(reference_mpi, 1, *NBODY_STEPS)
    return REFERENCES["nbody"]


@pytest.fixture
def heat_reference(heat: Callable[..., Result], reference_mpi: Mpi) -> Result:
    if "heat" not in REFERENCES:
        REFERENCES["heat"] = heat(reference_mpi, 1, *HEAT_STEPS)
    return REFERENCES["heat"]


@pytest.mark.in_turns(2)
def test_nbody_gives_the_same_for_all_ranks(
    mpi: Mpi, nbody: Callable[..., Result], nbody_reference: Result
) -> None:
    assert_same([nbody_reference, *(nbody(mpi, ranks, *NBODY_STEPS) for ranks in (2, 3))])


@pytest.mark.in_turns(2, 1)
def test_nbody_shares_few_bodies_among_many_ranks(mpi: Mpi, nbody: Callable[..., Result]) -> None:
    few = ["--bodies", "7", "--steps", "20"]
    assert_same([nbody(mpi, ranks, *few) for ranks in (1, 5)])


@pytest.mark.in_turns(3)
def test_nbody_gives_the_same_under_unisono(
    mpi: Mpi, nbody: Callable[..., Result], nbody_reference: Result
) -> None:
    assert_same(
        [nbody_reference, *(nbody(mpi, ranks, *NBODY_STEPS, is_under_unisono=True) for ranks in (1, 2, 3, 4))]
    )


@pytest.mark.in_turns(2)
def test_nbody_finds_that_a_step_is_too_long(
    mpi: Mpi, runner: Runner, nbody_of: Callable[[Mpi], Path]
) -> None:
    finished = runner.run(mpi, 2, [nbody_of(mpi), "--fixed-step", "0.5", "--steps", "200"])
    assert finished.status == 1, str(finished)
    assert "check failed: energy drift" in finished.errors, str(finished)


@pytest.mark.parametrize("step", ["1e200", "1e300"])
def test_nbody_takes_no_number_for_a_failure(
    reference_mpi: Mpi, runner: Runner, nbody_of: Callable[[Mpi], Path], tmp_path: Path, step: str
) -> None:
    file = tmp_path / "result.json"
    command = [nbody_of(reference_mpi), "--fixed-step", step, "--steps", "20", "--json", file]
    finished = runner.run(reference_mpi, 2, command)
    assert finished.status == 1, str(finished)
    values = [check["value"] for check in json.loads(file.read_text())["checks"]]
    assert values == [None] * len(values)


def test_nbody_converges_with_the_square_of_the_step(
    reference_mpi: Mpi, nbody: Callable[..., Result]
) -> None:
    def drift(step: float, steps: int) -> float:
        result = nbody(reference_mpi, 2, "--fixed-step", str(step), "--steps", str(steps))
        return next(check["value"] for check in result["checks"] if check["name"].startswith("energy drift"))

    # The same time in all: 1.6. The leapfrog is of second order.
    coarse, fine = drift(0.004, 400), drift(0.002, 800)
    assert 2.5 < coarse / fine < 6.0


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize(
    "options", [["--steps", "0"], ["--steps"], ["--steps", "3x"], ["--softening", "0"], ["--unknown"]]
)
def test_nbody_refuses_wrong_usage(
    reference_mpi: Mpi, runner: Runner, nbody_of: Callable[[Mpi], Path], options: list[str]
) -> None:
    finished = runner.run(reference_mpi, 2, [nbody_of(reference_mpi), *options])
    assert finished.status == 2, str(finished)
    assert finished.errors.count("nbody: --") + finished.errors.count("nbody: unknown option") == 1, str(
        finished
    )


@pytest.mark.in_turns(3, 1)
def test_heat_gives_the_same_on_all_mpis(
    mpi: Mpi, heat: Callable[..., Result], heat_reference: Result
) -> None:
    assert_same([heat_reference, *(heat(mpi, ranks, *HEAT_STEPS) for ranks in (2, 3))])


@pytest.mark.dear
def test_heat_gives_the_same_for_all_ranks(
    reference_mpi: Mpi, heat: Callable[..., Result], heat_reference: Result
) -> None:
    # Two and three ranks: see above.
    assert_same([heat_reference, *(heat(reference_mpi, ranks, *HEAT_STEPS) for ranks in (4, 5))])


@pytest.mark.in_turns(2, 1)
def test_heat_gives_the_same_under_unisono(
    mpi: Mpi, heat: Callable[..., Result], heat_reference: Result
) -> None:
    assert_same([heat_reference, *(heat(mpi, ranks, *HEAT_STEPS, is_under_unisono=True) for ranks in (2, 3))])


def test_heat_gathers_the_same_field(reference_mpi: Mpi, heat: Callable[..., Result], tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    fields = []
    for ranks in (1, 4):
        heat(reference_mpi, ranks, *HEAT_STEPS, "--field", str(tmp_path / "field.npy"))
        fields.append(numpy.load(tmp_path / "field.npy"))
    assert fields[0].shape == (22, 22)
    assert abs(fields[0] - fields[1]).max() < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time-step", "3", "--steps", "20"], "distance from the exact solution"),
        (["--tolerance", "0.01", "--steps", "20"], "heat balance"),
    ],
)
def test_heat_finds_what_is_wrong(
    reference_mpi: Mpi, runner: Runner, python: str, options: list[str], message: str
) -> None:
    finished = runner.run(reference_mpi, 2, [python, HEAT, *options], runner.python(reference_mpi))
    assert finished.status == 1, str(finished)
    assert f"check failed: {message}" in finished.errors, str(finished)


def test_heat_converges_with_the_square_of_the_width(reference_mpi: Mpi, heat: Callable[..., Result]) -> None:
    def error(cells: int, steps: int) -> float:
        time_step = str(0.8 / steps)
        result = heat(
            reference_mpi, 2, "--cells", str(cells), "--steps", str(steps), "--time-step", time_step
        )
        return next(row["value"] for row in result["quantities"] if row["name"] == "largest error")

    assert 3.0 < error(24, 10) / error(48, 20) < 5.0


@pytest.mark.parametrize("options", [["--cells", "7"], ["--steps", "0"], ["--unknown"]])
def test_heat_refuses_wrong_usage(
    reference_mpi: Mpi, runner: Runner, python: str, options: list[str]
) -> None:
    finished = runner.run(reference_mpi, 2, [python, HEAT, *options], runner.python(reference_mpi))
    assert finished.status == 2, str(finished)
    assert finished.errors.count("heat.py: error:") == 1, str(finished)
