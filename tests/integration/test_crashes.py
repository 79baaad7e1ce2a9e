# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms that crash, on every MPI: a real fault in one is recorded, and the next job leaves it out; all else is as without Unisono."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping
from itertools import product
from typing import Any

import job
import pytest
from harness import PROGRAMS, TOOL, Cluster, Runner, compile_program
from mpis import Layout, Mpi

pytestmark = pytest.mark.each_library

TIMEOUT = 60
RANKS = 3
# Which way a call goes: its elements, and settings.
WAYS: dict[str, tuple[int, dict[str, str]]] = {
    "small": (1, {}),
    "large": (1 << 16, {}),
    "messages": (1 << 16, {"UNISONO_NODES": "2,1"}),
}


class Crashing:
    """Jobs of programs/crash.c that share a cache directory."""

    def __init__(self, mpi: Mpi, runner: Runner) -> None:
        self.mpi = mpi
        self.runner = runner
        self.cache = runner.scratch / "cache"
        self.program = compile_program(mpi, "crash.c")

    def run(self, *words: str, settings: Mapping[str, str] | None = None, **where: object) -> job.Result:
        report = self.runner.scratch / "report.json"
        report.unlink(missing_ok=True)
        environment = {
            "UNISONO_CACHE": str(self.cache),
            "UNISONO_REPORT": str(report),
            "UNISONO_PROGRESS": "calls",
            **(settings or {}),
        }
        command = [self.program, *words]
        self.keep_cache()
        result = self.runner.unisono(self.mpi, RANKS, command, environment, timeout=TIMEOUT, **where)
        assert not result.is_timed_out and not result.survivors, str(result)
        return result

    def keep_cache(self) -> None:
        """A job that the harness runs once more finds no record of its first run."""
        before = self.runner.scratch / "cache before"
        shutil.rmtree(before, ignore_errors=True)
        if self.cache.exists():
            shutil.copytree(self.cache, before)

        def restore() -> None:
            shutil.rmtree(self.cache, ignore_errors=True)
            if before.exists():
                shutil.copytree(before, self.cache)

        self.runner.before_again = restore

    def report(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads((self.runner.scratch / "report.json").read_text())
        return read

    def records(self) -> list[dict[str, Any]]:
        result = job.run([TOOL, "crashes", "--cache", str(self.cache)]).check()
        answer = json.loads(result.output)
        assert answer["malformed"] == 0
        crashes: list[dict[str, Any]] = answer["crashes"]
        return crashes


def own_words(result: job.Result) -> list[str]:
    """What Unisono has said, but for what ranks say that wait for the dead one until the launcher ends them."""
    lines = [line for line in result.errors.splitlines() if "unisono:" in line]
    return [line for line in lines if "waited for it in a collective" not in line]


@pytest.fixture
def crashing(mpi: Mpi, runner: Runner) -> Crashing:
    return Crashing(mpi, runner)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("mode", "way"), [*product(["call"], WAYS), ("start", "large")])
def test_the_next_job_leaves_it_out(crashing: Crashing, way: str, mode: str):
    elements, settings = WAYS[way]
    result = crashing.run(mode, str(elements), settings=settings)
    assert result.status != 0 and "RIGHT" not in result.output, str(result)
    said = re.search(
        rf"unisono: rank {RANKS - 1} gets SIGSEGV inside allreduce:(\w+).*later runs of 'crash-c' leave it out",
        result.errors,
    )
    assert said, str(result)
    (record,) = crashing.records()
    assert record["algorithm"].partition("(")[0] == said[1] and record["holds_here"]
    assert (record["program"], record["operation"]) == ("crash-c", "allreduce")
    assert (record["signal"], record["rank"], record["ranks"]) == ("SIGSEGV", RANKS - 1, RANKS)

    healthy = "healthy_start" if mode == "start" else "healthy"
    why = f"is quarantined: a job of {record['date']} died of SIGSEGV inside it"
    result = crashing.run(healthy, str(elements), settings=settings).check()
    assert "RIGHT" in result.output, str(result)
    assert f"allreduce:{said[1]} {why}" in result.errors, str(result)
    report = crashing.report()
    assert [why in warning for warning in report["warnings"]] == [True]
    rows = [row for row in report["classes"] if row["operation"] == "allreduce"]
    assert rows and all(row["algorithm"] != said[1] and why in row["reason"] for row in rows), rows

    forced = {**settings, "UNISONO_ALGORITHM": f"allreduce:{said[1]}"}
    result = crashing.run(healthy, str(elements), settings=forced).check()
    assert f"allreduce:{said[1]} is refused: it {why}" in result.errors, str(result)

    result = job.run([TOOL, "crashes", "--cache", str(crashing.cache), "--program", "crash-c", "--forget"])
    assert json.loads(result.check().output)["forgotten"] == 1
    result = crashing.run(healthy, str(elements), settings=settings).check()
    assert "quarantined" not in result.errors
    rows = [row for row in crashing.report()["classes"] if row["operation"] == "allreduce"]
    assert any(row["algorithm"] == said[1] for row in rows), rows


@pytest.mark.dear
@pytest.mark.in_turns(2)
@pytest.mark.cluster
def test_a_rank_on_another_node(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    """Nodes share the cache directory: rank 0 of the next job finds what a rank elsewhere has left."""
    crashing = Crashing(cluster_mpi, runner)
    where = {"cluster": cluster, "layout": Layout((2, 1))}
    result = crashing.run("call", **where)
    said = f"unisono: rank {RANKS - 1} gets SIGSEGV inside allreduce:"
    assert result.status != 0 and said in result.errors, str(result)
    # MPIs may fall on other ranks too when one is gone; of one job the first record counts.
    (record,) = crashing.records()
    said_of_it = (record["signal"], record["rank"], record["ranks"])
    assert said_of_it == ("SIGSEGV", RANKS - 1, RANKS), f"{record}\n{result}"
    result = crashing.run("healthy", **where).check()
    assert "RIGHT" in result.output and "is quarantined: a job of" in result.errors, str(result)


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("mode", ["program", "operator", "abort", "derived"])
def test_what_is_no_algorithms_fault(crashing: Crashing, mode: str):
    """Silent, and no record."""
    result = crashing.run(mode)
    assert result.status != 0, str(result)
    assert not own_words(result) and "RIGHT" not in result.output, str(result)
    assert not crashing.cache.exists()


@pytest.mark.in_turns(4, 1)
@pytest.mark.parametrize(
    ("mode", "way"),
    [
        *product(["unmapped"], WAYS),
        *product(["unmapped_start", "short", "truncated", "far", "uneven"], ["large"]),
    ],
)
def test_a_bad_buffer_is_the_programs_fault(crashing: Crashing, way: str, mode: str):
    """Said so, and no algorithm is left out."""
    elements, settings = WAYS[way]
    result = crashing.run(mode, str(elements), settings=settings)
    assert result.status != 0 and "RIGHT" not in result.output, str(result)
    said = re.search(
        rf"rank {RANKS - 1} gets SIG(SEGV|BUS) inside all\w+:\w+.*the program's fault", result.errors
    )
    assert said, str(result)
    assert (said[1] == "BUS") == (mode == "truncated")
    assert "later runs" not in result.errors and not crashing.cache.exists()


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("mode", ["program", "abort"])
def test_a_job_ends_as_it_does_natively(crashing: Crashing, mode: str):
    """One rank: of several, launchers name now one and now another."""
    native = crashing.runner.run(crashing.mpi, 1, [crashing.program, mode], timeout=TIMEOUT)
    result = crashing.runner.unisono(crashing.mpi, 1, [crashing.program, mode], timeout=TIMEOUT)
    assert result.status == native.status != 0, f"{native}\n{result}"


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("mode", ["before", "after"])
def test_the_programs_handler_is_called(crashing: Crashing, mode: str):
    """One from before MPI_Init besides ours; one that replaced ours alone."""
    result = crashing.run(mode)
    assert result.status != 0 and result.output.count("HANDLED") == 1, str(result)
    assert len(crashing.records()) == (1 if mode == "before" else 0), str(result)


@pytest.mark.in_turns(2)
def test_a_fault_that_the_program_answers(crashing: Crashing):
    result = crashing.run("answered").check()
    assert "RIGHT" in result.output and not own_words(result), str(result)
    assert not crashing.records()
    result = crashing.run("healthy").check()
    assert "quarantined" not in result.errors, str(result)


@pytest.mark.in_turns(2)
def test_the_option_switches_it_off(crashing: Crashing):
    result = crashing.run("call", settings={"UNISONO_CRASHES": "0"})
    assert result.status != 0 and not own_words(result), str(result)
    assert not crashing.cache.exists()


@pytest.mark.in_turns(3, 1)
def test_without_a_cache_it_is_said_only(crashing: Crashing):
    result = crashing.run("call", settings={"UNISONO_CACHE": ""})
    assert "gets SIGSEGV inside allreduce:" in result.errors and "no cache directory" in result.errors, str(
        result
    )


@pytest.mark.in_turns(2, 1)
def test_python_with_its_fault_handler(mpi: Mpi, runner: Runner, python: str):
    """Python's own handler speaks as well, and the record names the script."""
    if not mpi.has_mpi4py:
        pytest.skip(f"mpi4py's wheel has no build for {mpi.name}")
    environment = runner.python(mpi, {"UNISONO_CACHE": str(runner.scratch / "cache")})
    command = [python, PROGRAMS / "crash.py"]
    result = runner.unisono(mpi, RANKS, command, environment, timeout=TIMEOUT)
    assert result.status != 0 and "Fatal Python error: Segmentation fault" in result.errors, str(result)
    said = re.search(
        r"gets SIGSEGV inside allreduce:(\w+).*later runs of '(python\S* crash.py)'", result.errors
    )
    assert said, str(result)
    assert said[2].startswith(f"python{sys.version_info.major}")
    result = runner.unisono(mpi, RANKS, [*command, "healthy"], environment, timeout=TIMEOUT).check()
    assert "RIGHT" in result.output and f"allreduce:{said[1]} is quarantined" in result.errors, str(result)
