# SPDX-License-Identifier: BSD-3-Clause
"""What nodes consist of, over real MPIs: forced, found by hwloc for ranks that are bound, and not to be had."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import harness
import job
import mpis
import pytest
from harness import Runner, compile_program, installed

pytestmark = pytest.mark.each_library

RANKS = 6
# A libhwloc.so.15 that cannot begin (tests/stand_ins/hwloc.c).
FAILING_HWLOC = harness.BUILD / "tests/stand_ins/failing_hwloc"
TWO_SOCKETS = harness.ROOT / "tests/cli/fixtures/two_sockets.xml"
# Binds a rank to core 0 or 1 before the program begins.
BOUND = """#!/bin/sh
exec taskset -c $((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} % 2)) "$@"
"""


class Ran:
    """A job of 6 ranks and its report."""

    def __init__(
        self, request: pytest.FixtureRequest, runner: Runner, name: str, is_bound: bool, **options: str
    ) -> None:
        mpi = installed(mpis.BY_NAME[name], request.config)
        report = runner.scratch / "report.json"
        sections = ("barrier", "counts", "in_place", "roots", "user_operators")
        command: list[str | Path] = [compile_program(mpi, "collectives"), *sections]
        if is_bound:
            bound = runner.scratch / "bound.sh"
            bound.write_text(BOUND)
            bound.chmod(0o755)
            command.insert(0, bound)
        environment = {**options, "UNISONO_REPORT": str(report)}
        self.result: job.Result = runner.unisono(mpi, RANKS, command, environment, timeout=120).check()
        assert self.result.output.startswith("OK "), str(self.result)
        assert not self.result.survivors, str(self.result)
        self.report: dict[str, Any] = json.loads(report.read_text())

    @property
    def layouts(self) -> set[str]:
        """Of the communicators that hold all ranks."""
        return {
            entry["layout"] for entry in self.report["classes"] if entry["shape"].startswith(f"{RANKS} ranks")
        }

    def ran(self, operation: str) -> set[str]:
        """Names of the algorithms of an operation on the communicators that hold all ranks."""
        return {
            entry["algorithm"]
            for entry in self.report["classes"]
            if entry["operation"] == operation and entry["shape"].startswith(f"{RANKS} ranks")
        }

    @property
    def domains(self) -> list[tuple[str, list[int]]]:
        [node] = self.report["nodes"]
        return [(level["kind"], level["ranks"]) for level in node.get("domains", [])]


needs_two_cores = pytest.mark.skipif(
    not {0, 1} <= os.sched_getaffinity(0), reason="cores 0 and 1 are not ours"
)


@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
def test_forced(request: pytest.FixtureRequest, runner: Runner, name: str) -> None:
    ran = Ran(request, runner, name, False, UNISONO_DOMAINS="(2+1)+(2+1)")
    assert ran.layouts == {"(2+1)+(2+1)"}
    assert ran.domains == [("numa", [3, 3]), ("cache", [2, 1, 2, 1])]


ALONG_DOMAINS = {
    "fused": dict.fromkeys(("barrier", "bcast", "reduce", "allreduce"), "fused_domains"),
    "shared": dict.fromkeys(("bcast", "reduce", "allreduce"), "shared_domains"),
    "two_levels": {
        "bcast": "two_level_chain(segment=4K,domains=1)",
        "reduce": "two_level_fused_binomial(domains=1)",
        "allreduce": "two_level_rabenseifner(domains=1)",
    },
}


@pytest.mark.parametrize("name", list(mpis.BY_NAME))
@pytest.mark.parametrize("choices", ALONG_DOMAINS.values(), ids=ALONG_DOMAINS)
def test_along_domains(
    request: pytest.FixtureRequest, runner: Runner, name: str, choices: dict[str, str]
) -> None:
    """Results are right: of any roots, in place, with operators that do not commute, and over nodes."""
    over_nodes = choices is ALONG_DOMAINS["two_levels"]
    place = {"UNISONO_NODES": "(2+1),(1+2)"} if over_nodes else {"UNISONO_DOMAINS": "(2+1)+(2+1)"}
    forced = ",".join(f"{operation}:{choice}" for operation, choice in choices.items())
    ran = Ran(request, runner, name, False, **place, UNISONO_ALGORITHM=forced, UNISONO_LEARN="off")
    for operation, choice in choices.items():
        used = {algorithm.partition("(")[0] for algorithm in ran.ran(operation)}
        assert choice.partition("(")[0] in used, f"{operation}: {used}"


@needs_two_cores
@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
@pytest.mark.parametrize(
    ("described", "value", "kind"),
    [("HWLOC_SYNTHETIC", "numa:2 pu:1", "numa"), ("HWLOC_XMLFILE", str(TWO_SOCKETS), "socket")],
    ids=["synthetic", "recorded"],
)
def test_found(
    request: pytest.FixtureRequest, runner: Runner, name: str, described: str, value: str, kind: str
) -> None:
    """Every second rank is bound to core 0, the others to core 1, which a description puts far from each other."""
    ran = Ran(request, runner, name, True, **{"UNISONO_DOMAINS": "on", described: value})
    assert ran.layouts == {"1x2x3/interleaved"}
    assert ran.domains == [(kind, [3, 3])]
    assert not ran.report["warnings"]


@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
def test_ranks_that_may_run_anywhere(request: pytest.FixtureRequest, runner: Runner, name: str) -> None:
    ran = Ran(request, runner, name, False, UNISONO_DOMAINS="on", HWLOC_SYNTHETIC="numa:2 pu:1")
    assert ran.layouts == {str(RANKS)} and not ran.domains


def test_hwloc_that_fails(request: pytest.FixtureRequest, runner: Runner) -> None:
    """The job runs, and its report says why nothing is known. (Open MPI needs an hwloc that does not fail.)"""
    mpi = mpis.BY_NAME["mpich5"]
    libraries = ":".join(filter(None, [str(FAILING_HWLOC), mpi.environment.get("LD_LIBRARY_PATH", "")]))
    ran = Ran(request, runner, mpi.name, True, UNISONO_DOMAINS="on", LD_LIBRARY_PATH=libraries)
    assert ran.layouts == {str(RANKS)} and not ran.domains
    [why] = ran.report["warnings"]
    assert why.startswith(
        "nothing is known of sockets, NUMA domains and caches inside nodes: hwloc cannot begin: "
    )
    assert why not in ran.result.errors
