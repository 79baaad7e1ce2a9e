# SPDX-License-Identifier: BSD-3-Clause
"""Unisono without `unisono run`: preloaded by hand or by a module, in batch scripts, under srun, and as a site sets it for all."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import harness
import job
import mpis
import pytest
from mpis import Mpi

SRUN = Path(__file__).with_name("srun.sh")


def environment(mpi: Mpi, folder: Path, **variables: str) -> dict[str, str]:
    return {
        **mpis.launcher_environment(mpi),
        **harness.RULES_ALONE,
        "UNISONO_REPORT": str(folder / "report.json"),
        "UNISONO_SITE_CONFIG": "none",
        "UNISONO_CONFIG": "/dev/null",
        **variables,
    }


def served(folder: Path) -> int | None:
    """How many calls Unisono served, by the report; None: there is no report."""
    report = folder / "report.json"
    if not report.is_file():
        return None
    read = json.loads(report.read_text())
    return sum(entry["calls"] for entry in read["classes"] if entry["algorithm"] != "native")


def script(mpi: Mpi, folder: Path, ranks: int = 2) -> Path:
    """A batch script that switches Unisono on for all that it starts, programs without MPI as well."""
    program = harness.compile_program(mpi, "report.c")
    path = folder / "job.sh"
    path.write_text(
        f"""#!/bin/bash
#SBATCH --ntasks={ranks}
export LD_PRELOAD={harness.LIBRARY}
sh -c 'exit 0' && ls / > /dev/null && {shlex.quote(sys.executable)} -c 'pass'
{shlex.join(mpi.launch(ranks, [program, "started"]))}
"""
    )
    return path


@pytest.mark.in_turns(2)
@pytest.mark.each_library
def test_a_batch_script(mpi: Mpi, tmp_path: Path) -> None:
    result = job.run(["bash", script(mpi, tmp_path)], environment(mpi, tmp_path), directory=tmp_path).check()
    assert served(tmp_path) == 20
    assert "unisono" not in result.output + result.errors
    assert result.survivors == []


@pytest.mark.dear
@pytest.mark.parametrize("family", ["openmpi5", "mpich5"])
def test_what_a_site_sets(family: str, tmp_path: Path) -> None:
    mpi = mpis.BY_NAME[family]
    site = tmp_path / "site.conf"
    site.write_text("enable = off\n")
    words = ["bash", script(mpi, tmp_path, ranks=4)]

    def run(**variables: str) -> str:
        variables = {"UNISONO_SITE_CONFIG": str(site), **variables}
        result = job.run(words, environment(mpi, tmp_path, **variables), directory=tmp_path).check()
        return result.output + result.errors

    assert "unisono" not in run()
    assert not served(tmp_path)
    run(UNISONO_ENABLE="on")
    assert served(tmp_path) == 20
    site.write_text("enable = perhaps\n")
    said = run()
    assert said.count("unisono:") == 1, said
    assert f"{site} line 1: enable 'perhaps' is ignored" in said
    assert served(tmp_path) == 20


@pytest.mark.parametrize(
    "options",
    [["-n", "2"], ["--ntasks=2", "--cpu-bind=cores", "-l"], ["-N1", "-n2", "--mpi=pmi2", "--export=ALL"]],
    ids=" ".join,
)
@pytest.mark.parametrize("is_by_hand", [True, False], ids=["by hand", "unisono run"])
def test_srun(options: list[str], is_by_hand: bool, tmp_path: Path) -> None:
    """`srun` stands in for Slurm's: it reads the same options, and starts the ranks by MPICH's launcher."""
    mpi = mpis.BY_NAME["mpich5"]
    program = harness.compile_program(mpi, "report.c")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/srun").symlink_to(SRUN)
    variables = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "SRUN_LAUNCHER": str(mpi.launcher)}
    line = ["srun", *options, str(program), "started"]
    if is_by_hand:
        variables["LD_PRELOAD"] = str(harness.LIBRARY)
    else:
        variables["UNISONO_HOME"] = str(harness.BUILD)
        line = [sys.executable, "-m", "unisono", "run", *line]
    job.run(line, environment(mpi, tmp_path, **variables), directory=tmp_path).check()
    assert served(tmp_path) == 20


def test_a_program_without_mpi_loads_nothing_more() -> None:
    look = "print(*{line.split()[-1] for line in open('/proc/self/maps') if 'unisono' in line})"
    command = ["/usr/bin/python3", "-S", "-c", look]
    kept = {**os.environ, "LD_PRELOAD": str(harness.LIBRARY), "UNISONO_LOG": "info"}
    done = subprocess.run(command, env=kept, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(harness.LIBRARY)]
    assert done.stderr == ""
