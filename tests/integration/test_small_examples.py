# SPDX-License-Identifier: BSD-3-Clause
"""The short example programs: right natively and under Unisono, with the same results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpis
import pytest
from harness import HEADER, Runner, compile_example, compile_program
from mpis import ROOT, Mpi

pytestmark = pytest.mark.each_library

EXAMPLES = ROOT / "examples"
# Quick to compile; the loops are what they are.
FLAGS = ("-std=c++20", "-O1", "-Wall", "-Wextra")


def assert_same_output(
    runner: Runner, mpi: Mpi, ranks: int, command: list[str | Path], environment: dict[str, str] | None = None
) -> str:
    native = runner.run(mpi, ranks, command, environment).check()
    under = runner.unisono(mpi, ranks, command, environment).check()
    assert native.output == under.output != "", f"natively: {native}\nunder Unisono: {under}"
    return native.output


@pytest.mark.in_turns(5)
def test_all_products_are_the_same(mpi: Mpi, runner: Runner, tmp_path: Path) -> None:
    """Each distribution with each way to share among threads and each way to use the cache, on a grid that is no square."""
    program = compile_example(mpi, "matmul", FLAGS)
    products: list[dict[str, Any]] = []
    for start in (runner.run, runner.unisono):
        file = tmp_path / "products.json"
        options = ["--all", "--size", "50", "--block", "512", "--grid", "1x3", "--json", file]
        start(mpi, 3, [program, *options]).check()
        products += json.loads(file.read_text())["products"]
    kinds = {(made["distribution"], made["sharing"], made["cache"]) for made in products}
    assert len(kinds) == 2 * 4 * 6 and len(products) == 2 * len(kinds)
    assert {made["wrong"] for made in products} == {0}
    assert len({made["digest"] for made in products}) == 1
    for made in products:
        parts = made["computation_s"] + made["communication_s"] + made["penalty_s"]
        assert made["total_s"] == pytest.approx(parts, rel=1e-3, abs=1e-6)
        assert made["computation_s"] > 0 < made["communication_s"]


@pytest.fixture(scope="session")
def one_mpi() -> Mpi:
    """For what does not depend on the MPI."""
    return next(mpi for mpi in mpis.ALL if mpi.is_installed)


@pytest.mark.dear
def test_matmul_speaks_of_layers_and_refuses_wrong_usage(one_mpi: Mpi, runner: Runner) -> None:
    program = compile_example(one_mpi, "matmul", FLAGS)
    gain = runner.run(one_mpi, 4, [program, "--gain", "--size", "40", "--cache", "strassen"]).check()
    assert "matmul: 40 rows, 2 x 2 processes of 2 threads" in gain.output
    assert "gained: " in gain.output and " processes " in gain.output.splitlines()[-1]
    for options, says in (
        (["--cache", "none"], "'none' is none of simple, "),
        (["--grid", "2x2"], "--grid: "),
    ):
        refused = runner.run(one_mpi, 2, [program, *options])
        assert refused.status == 2 and refused.errors.count(says) == 1, str(refused)


@pytest.mark.in_turns(3)
def test_sort(mpi: Mpi, runner: Runner) -> None:
    program = compile_program(mpi, str(EXAMPLES / "sort/sort.c"), flags=[HEADER])
    output = assert_same_output(runner, mpi, 3, [program, "500", "3"])
    assert "sort: round 3, 1500 numbers, digest " in output


def test_regions_of_sort_are_learned_apart(one_mpi: Mpi, runner: Runner, tmp_path: Path) -> None:
    program = compile_program(one_mpi, str(EXAMPLES / "sort/sort.c"), flags=[HEADER])
    report = tmp_path / "report.json"
    environment = {"UNISONO_LEARN": "star", "UNISONO_REPORT": str(report)}
    runner.unisono(one_mpi, 2, [program, "100", "300"], environment).check()
    assert {'"borders"', '"exchange"'} <= set(report.read_text().replace(",", " ").split())


@pytest.mark.parametrize("name", [mpi.name for mpi in mpis.ALL if "f08" in mpi.fortran_bindings])
def test_poisson(name: str, runner: Runner) -> None:
    mpi = mpis.BY_NAME[name]
    program = compile_program(mpi, str(EXAMPLES / "poisson/poisson.f90"))
    output = assert_same_output(runner, mpi, 3, [program, "40"])
    assert "poisson: 40 x 40 points, " in output
    refused = runner.run(mpi, 2, [program, "many"])
    assert refused.status == 2 and "N must be a number" in refused.output, str(refused)


@pytest.mark.in_turns(3)
def test_clusters(mpi: Mpi, runner: Runner, python: str) -> None:
    command = [python, EXAMPLES / "clusters/clusters.py", "--points", "400", "--clusters", "5"]
    output = assert_same_output(runner, mpi, 3, command, runner.python(mpi))
    assert "1200 points around " in output
