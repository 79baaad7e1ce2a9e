# SPDX-License-Identifier: BSD-3-Clause
"""The examples of neighbourhood collectives: right natively and under Unisono, with the same results, and as SciPy has them.

Process grids are chosen so that natively all is right. Where a periodic dimension has 1 or 2 processes, most MPIs put blocks in
the wrong place, in blocking or in other calls.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpis
import numpy as np
import pytest
from harness import Runner, compile_example
from mpis import ROOT, Mpi
from pyamg.gallery import load_example
from scipy import io, sparse
from test_small_examples import FLAGS, assert_same_output

pytestmark = pytest.mark.each_library

EXAMPLES = ROOT / "examples"


def both(runner: Runner, mpi: Mpi, ranks: int, command: list[str | Path]) -> list[dict[str, Any]]:
    """What the program writes for programs to read, natively and under Unisono."""
    file = runner.scratch / "result.json"
    results = []
    for start in (runner.run, runner.unisono):
        start(mpi, ranks, [*command, "--quiet", "--json", file]).check()
        results.append(json.loads(file.read_text()))
    return results


def airfoil(path: Path) -> sparse.csr_array:
    """The places of a real matrix, with whole numbers so that products are exact."""
    matrix = sparse.csr_array(load_example("airfoil")["A"])
    matrix.data = np.arange(matrix.nnz) % 17 - 8.0
    io.mmwrite(path, matrix)
    return matrix


@pytest.mark.in_turns(3)
def test_products_are_those_of_scipy(mpi: Mpi, runner: Runner) -> None:
    """A real matrix times itself, gathered in all ways; stripes of 87 and 86 rows."""
    matrix = airfoil(runner.scratch / "airfoil.mtx")
    product = runner.scratch / "product.mtx"
    command = [compile_example(mpi, "spmm", FLAGS), "--matrix", runner.scratch / "airfoil.mtx", "--square"]
    command += ["--at-once", "100", "--output", product]
    native, under = both(runner, mpi, 3, command)
    made = native["products"] + under["products"]
    assert len(made) == 2 * 5 and {one["wrong"] for one in made} == {0}
    assert len({one["digest"] for one in made}) == 1
    assert np.array_equal(io.mmread(product), (matrix @ matrix).toarray())


@pytest.mark.dear
def test_spmm_refuses_what_makes_no_sense(runner: Runner, tmp_path: Path) -> None:
    one_mpi = next(mpi for mpi in mpis.ALL if mpi.is_installed)
    program = compile_example(one_mpi, "spmm", FLAGS)
    (tmp_path / "cut.mtx").write_text("%%MatrixMarket matrix coordinate real general\n4 4 2\n1 1 0.5\n")
    for options, says in (
        (["--matrix", tmp_path / "cut.mtx"], "cut.mtx:3: the file ends after 1 of 2 elements"),
        (["--banded", "1,0", "--gather", "allgather"], "there are 2 ranks for a matrix of 1 x 1"),
    ):
        refused = runner.run(one_mpi, 2, [program, *options])
        assert refused.status == 2 and refused.errors.count(says) == 1, str(refused)


@pytest.mark.in_turns(3)
def test_stencil(mpi: Mpi, runner: Runner) -> None:
    """All operations and calls; blocks that see the next ones, and ones that see further."""
    program = [compile_example(mpi, "stencil", FLAGS), "--steps", "3", "--operation", "all", "--call", "all"]
    for ranks, shape in (
        (4, ["--grid", "2x2", "--topology", "all"]),
        (3, ["--grid", "1x3x1", "--cells", "2", "--radius", "3"]),
    ):
        native, under = both(runner, mpi, ranks, [*program, *shape])
        runs = native["runs"] + under["runs"]
        assert len({run["operation"] for run in runs}) == 5
        assert {run["wrong"] for run in runs} == {0}
        for topology in {run["topology"] for run in runs}:
            assert len({run["digest"] for run in runs if run["topology"] == topology}) == 1


@pytest.mark.in_turns(3)
def test_traversal(mpi: Mpi, runner: Runner, python: str) -> None:
    airfoil(runner.scratch / "airfoil.mtx")
    program = [python, EXAMPLES / "traversal/traversal.py", "--matrix", runner.scratch / "airfoil.mtx"]
    output = assert_same_output(runner, mpi, 3, [*program, "--start", "7"], runner.python(mpi))
    assert "traversal: 260 vertices, 1682 edges, 3 ranks, at most 2 neighbours" in output
    assert "reached 260 vertices" in output


@pytest.mark.in_turns(3)
def test_halo(mpi: Mpi, runner: Runner, python: str) -> None:
    call = "nonblocking" if mpi.family == "mpich" else "blocking"
    command = [python, EXAMPLES / "halo/halo.py", "--cells", "4", "--steps", "5", "--call", call]
    assert "halo: 3x1 blocks" in assert_same_output(runner, mpi, 3, command, runner.python(mpi))
