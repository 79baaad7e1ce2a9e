# SPDX-License-Identifier: BSD-3-Clause
"""Agents on hosts that the user has named (`--agents-on hosts:LIST`), on the emulated cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import harness
import job
import pytest
from agent_jobs import WITH_AGENTS
from harness import Cluster, compile_program
from mpis import Layout, Mpi
from test_agents import OPERATIONS, calls_by_agents
from test_command import environment

pytestmark = [
    pytest.mark.each_library,
    pytest.mark.cluster,
    pytest.mark.skipif(not harness.TOOL.is_file(), reason=f"{harness.TOOL} is not built"),
]

NODES = (2, 1)  # ranks of node0 and node1


def by_ranks(mpi: Mpi, line: Sequence[str], folder: Path) -> list[str]:
    """Open MPI's command line with a file that says where each rank runs: on two hosts of four, for Open MPI 5."""
    ranks = [f"node{node}" for node, count in enumerate(NODES) for _ in range(count)]
    lines = [f"rank {rank}={node} slot={rank % 2}" for rank, node in enumerate(ranks)]
    (folder / "ranks").write_text("\n".join(lines) + "\n")
    words = list(line)
    hosts = words.index("-H")
    del words[hosts : hosts + 2]
    del words[words.index("--bind-to") : words.index("--bind-to") + 2]
    order = words.index("--map-by")
    if mpi.family == "openmpi4":
        words[order : order + 2] = ["--rankfile", str(folder / "ranks")]
        return words
    (folder / "hosts").write_text("".join(f"node{node} slots=2\n" for node in range(4)))
    words[order : order + 2] = ["--hostfile", str(folder / "hosts")]
    return [*words[:1], "--map-by", f"rankfile:file={folder / 'ranks'}", *words[1:]]


def beside_a_file(line: Sequence[str], folder: Path) -> list[str]:
    """Open MPI's command line with a file of other hosts, which agents are told as well."""
    (folder / "others").write_text("node2 slots=2\nnode3 slots=2\n")
    return [*line[:1], "--hostfile", str(folder / "others"), *line[1:]]


def run(
    mpi: Mpi, cluster: Cluster, folder: Path, named: str, way: str = "", deadline_s: int = 30
) -> job.Result:
    line = mpi.launch(sum(NODES), [compile_program(mpi, "overlap.c"), "40", "200"], {}, Layout(NODES))
    words = by_ranks(mpi, line, folder) if way == "ranks" else line
    if way == "file":
        words = beside_a_file(line, folder)
    options = ["--agents-on", named, "--agents-deadline", str(deadline_s), "--report", "r.json"]
    command = cluster.on_head([*WITH_AGENTS, *options, "--", *words])
    result = job.run(command, environment(mpi), directory=folder).check()
    assert result.output.startswith("OK, left to wait: "), str(result)
    return result


@pytest.mark.in_turns(2)
@pytest.mark.parametrize(("cores", "way"), [("", "ranks"), (",cores:0-1", "ranks"), ("", "file")])
def test_those_of_the_job(cluster_mpi: Mpi, cluster: Cluster, tmp_path: Path, cores: str, way: str) -> None:
    """Open MPI is told by a file of ranks, which Unisono does not read; or names count for more than a file."""
    is_openmpi = cluster_mpi.family.startswith("openmpi")
    named = f"hosts:node0,node1{cores}"
    result = run(cluster_mpi, cluster, tmp_path, named, way if is_openmpi else "")
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS, str(result)
    assert "unisono" not in result.errors, str(result)


@pytest.mark.in_turns(2)
def test_one_is_left_out(cluster_mpi: Mpi, cluster: Cluster, tmp_path: Path) -> None:
    """The job runs without agents, and is told which host has none."""
    result = run(cluster_mpi, cluster, tmp_path, "hosts:node0", deadline_s=100)
    assert calls_by_agents(tmp_path / "r.json") == {}
    says = "no agent was started on this host (rank 2 on node1, which option agents_on does not name)"
    assert f"the job runs without agents: {says}" in result.errors, str(result)
    assert result.seconds < 50, "nobody waits for who does not come"


@pytest.mark.dear
@pytest.mark.in_turns(2)
def test_one_is_not_of_the_job(cluster_mpi: Mpi, cluster: Cluster, tmp_path: Path) -> None:
    """Its agent serves nobody; those of the job's hosts do."""
    result = run(cluster_mpi, cluster, tmp_path, "hosts:node0,node3,node1")
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS, str(result)
    assert "so agents there have no work: node3" in result.errors, str(result)


@pytest.mark.dear
@pytest.mark.in_turns(2)
def test_one_is_not_there(cluster_mpi: Mpi, cluster: Cluster, tmp_path: Path) -> None:
    """The launcher of the agents says so, and the job runs without."""
    result = run(cluster_mpi, cluster, tmp_path, "hosts:node0,node77", deadline_s=5)
    assert calls_by_agents(tmp_path / "r.json") == {}
    assert "the job runs without agents: " in result.errors, str(result)
    assert re.search("agents: .*node ?77", result.errors), str(result)
