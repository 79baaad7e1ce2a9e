# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms that go by the switches, over real MPIs: on pretended nodes, and on emulated ones by their names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mpis
import pytest
from harness import Cluster, Runner, compile_program, installed
from mpis import Layout, Mpi

pytestmark = pytest.mark.each_library

SECTIONS = ["counts", "in_place", "random"]
# On five machines with a rank each, and on three with one or two.
ALONE = ("5x1", "tree:2,3")
PAIRS = ("2,1,2", "tree:1,2")
CASES = [
    (*ALONE, ["alltoall:topology_light_barrier", "allgather:topology_ring", "allgatherv:topology_ring"]),
    (*ALONE, ["alltoall:topology_mpi_barrier", "allreduce:rab1_topology_ring"]),
    ("2,2,1/cyclic", "tree:1,2", ["alltoall:topology_light_barrier", "allgather:topology_ring(segment=1K)"]),
    (*PAIRS, ["alltoall:two_level_topology_light_barrier", "allgather:two_level_topology_ring"]),
]


def names(choice: str) -> tuple[str, str]:
    operation, algorithm = choice.split(":")
    return operation, algorithm.split("(")[0]


def ran(report: dict[str, Any]) -> set[tuple[str, str]]:
    return {(entry["operation"], entry["algorithm"]) for entry in report["classes"]}


@pytest.mark.in_turns(2)
@pytest.mark.parametrize(("nodes", "topology", "choices"), CASES, ids=[case[2][0] for case in CASES])
@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
def test_forced(
    request: pytest.FixtureRequest, runner: Runner, name: str, nodes: str, topology: str, choices: list[str]
):
    """The results are right, and those algorithms brought them."""
    mpi = installed(mpis.BY_NAME[name], request.config)
    report = runner.scratch / "report.json"
    environment = {
        "UNISONO_NODES": nodes,
        "UNISONO_TOPOLOGY": topology,
        "UNISONO_ALGORITHM": ",".join(choices),
        "UNISONO_REPORT": str(report),
        "COLLECTIVES_NATIVE": "1",
    }
    command = [compile_program(mpi, "collectives"), *SECTIONS]
    result = runner.unisono(mpi, 5, command, environment, timeout=120).check()
    assert result.output.startswith("OK "), str(result)
    assert "is not used" not in result.errors, str(result)
    assert {names(choice) for choice in choices} <= ran(json.loads(report.read_text()))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("SwitchName=s0 Nodes=elsewhere\n", "it does not say on which switch machine "),
        ("SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=a\n", "line 2: machine a hangs on a switch already"),
        (None, "cannot be read"),
    ],
)
@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
def test_refused(request: pytest.FixtureRequest, runner: Runner, name: str, lines: str | None, why: str):
    """A description that is wrong, or not of this job: one rank says so, everything goes on without it."""
    mpi = installed(mpis.BY_NAME[name], request.config)
    file = runner.scratch / "switches.conf"
    if lines is not None:
        file.write_text(lines)
    environment = {"UNISONO_TOPOLOGY": str(file), "UNISONO_ALGORITHM": "alltoall:topology_light_barrier"}
    result = runner.unisono(mpi, 2, [compile_program(mpi, "collectives"), "counts"], environment).check()
    assert result.output.startswith("OK "), str(result)
    assert result.errors.count(f"option topology '{file}' is not used: ") == 1, str(result)
    assert why in result.errors
    assert "is refused: it needs a topology of this job: " in result.errors


@pytest.mark.in_turns(2)
@pytest.mark.cluster
def test_machines_by_name(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    layout = Layout((2, 2, 2, 2))
    file = runner.scratch / "switches.conf"
    file.write_text(
        "SwitchName=top Switches=s[0-1]\nSwitchName=s0 Nodes=node0,node2\nSwitchName=s1 Nodes=node[1,3]\n"
    )
    report = runner.scratch / "report.json"
    choices = ["alltoall:topology_light_barrier", "allgather:topology_ring"]
    environment = {
        "UNISONO_TOPOLOGY": str(file),
        "UNISONO_ALGORITHM": ",".join(choices),
        "UNISONO_REPORT": str(report),
        "COLLECTIVES_NATIVE": "1",
    }
    command = [compile_program(cluster_mpi, "collectives"), "in_place", "communicators"]
    result = runner.unisono(
        cluster_mpi, layout.ranks, command, environment, timeout=200, cluster=cluster, layout=layout
    )
    assert result.check().output.startswith("OK "), str(result)
    assert {names(choice) for choice in choices} <= ran(json.loads(report.read_text()))


@pytest.mark.dear
@pytest.mark.in_turns(2, 1)
@pytest.mark.cluster
def test_measure(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    """All nodes hang on one bridge; the command finds the nodes, measures, and writes what can be read back."""
    layout = Layout((1, 1, 1, 1))
    launcher = cluster.on_head(
        cluster_mpi.launch(4, [], runner.environment_for_ranks(cluster_mpi, 4, None), layout)
    )
    unisono = [sys.executable, "-m", "unisono", "topology"]
    compiler = ["--mpicc", str(cluster_mpi.compilers["c"])]
    environment = {**mpis.launcher_environment(cluster_mpi), "XDG_CACHE_HOME": str(runner.scratch / "cache")}
    words = [*unisono, "measure", "--seconds", "1", "--json", *compiler, "--", *launcher]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["machines"] == ["node0", "node1", "node2", "node3"]
    for i, row in enumerate(found["latencies_us"]):
        assert [latency > 0 for latency in row] == [i != j for j in range(4)]
    # What the latencies tell depends on how busy the machine is; whatever it is can be read back.
    file = Path(runner.scratch) / "switches.conf"
    words = [*unisono, "measure", "--seconds", "1", "-o", str(file), *compiler, "--", *launcher]
    subprocess.run(words, env=environment, check=True, timeout=90)
    words = [*unisono, "show", str(file), "--json"]
    shown = json.loads(
        subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True, timeout=90).stdout
    )
    machines = [machine["name"] for switch in shown["switches"] for machine in switch["machines"]]
    assert sorted(machines) == found["machines"]
