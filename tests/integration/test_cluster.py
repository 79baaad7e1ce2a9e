# SPDX-License-Identifier: BSD-3-Clause
"""The collectives across emulated nodes, with as many and with different numbers of ranks on them, in any order."""

from __future__ import annotations

import pytest
from harness import Cluster, Runner, compile_program, seed_of_this_run
from mpis import Layout, Mpi

TIMEOUT = 200
LAYOUTS = [
    Layout((1, 1, 1, 1)),
    Layout((2, 2, 2, 2)),
    Layout((1, 2, 3, 2)),
    Layout((2, 1, 2, 2), cyclic=True),
    Layout((5, 1)),
]

pytestmark = pytest.mark.cluster


# Two layouts run all that the program has; where ranks are unlike, what depends on who is where.
PLACES = ["barrier", "counts", "roots", "in_place", "empty_blocks", "communicators", "random"]


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_collectives(cluster_mpi: Mpi, runner: Runner, cluster: Cluster, layout: Layout):
    sections = [] if layout in LAYOUTS[:2] else PLACES
    command = [compile_program(cluster_mpi, "collectives"), *sections]
    result = runner.unisono(
        cluster_mpi, layout.ranks, command, timeout=TIMEOUT, cluster=cluster, layout=layout
    )
    assert result.check().output.startswith("OK "), str(result)


@pytest.mark.dear
@pytest.mark.in_turns(6)
def test_many_uneven_ranks(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    layout = Layout((3, 5, 8))
    sections = ["barrier", "roots", "in_place", "user_operators", "communicators", "random"]
    command = [compile_program(cluster_mpi, "collectives"), *sections]
    result = runner.unisono(
        cluster_mpi, layout.ranks, command, timeout=TIMEOUT, cluster=cluster, layout=layout
    )
    assert result.check().output.startswith("OK "), str(result)


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("single_copy", ["on", "off"])
def test_progress(cluster_mpi: Mpi, runner: Runner, cluster: Cluster, single_copy: str):
    """A large send is under way between the nodes while its sender waits in a collective."""
    layout = Layout((2, 2))
    command = [compile_program(cluster_mpi, "progress.c")]
    environment = {"UNISONO_SINGLE_COPY": single_copy}
    result = runner.unisono(cluster_mpi, 4, command, environment, timeout=60, cluster=cluster, layout=layout)
    assert result.check().output == "OK\n", str(result)


# Algorithms with messages for all operations, none of which the rules then leave to the MPI.
BY_MESSAGES = (
    "barrier:dissemination,bcast:binomial,reduce:binomial,allreduce:recursive_doubling,gather:binomial,"
    "scatter:binomial,allgather:bruck,alltoall:pairwise,reduce_scatter_block:pairwise,reduce_scatter:pairwise,"
    "scan:recursive_doubling,exscan:recursive_doubling,allgatherv:bruck,alltoallv:pairwise,alltoallw:pairwise,"
    "gatherv:flat,scatterv:flat"
)


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("layout", [Layout((1, 1)), Layout((2, 2))], ids=str)
def test_persistent_calls(cluster_mpi: Mpi, runner: Runner, cluster: Cluster, layout: Layout):
    """Each rank starts its requests in an order of its own; those of a node share memory, the others have tags."""
    command = [compile_program(cluster_mpi, "any_order.c"), seed_of_this_run(), "12", "multiple", "free"]
    environment = {"UNISONO_ALGORITHM": BY_MESSAGES}
    result = runner.unisono(
        cluster_mpi, layout.ranks, command, environment, timeout=TIMEOUT, cluster=cluster, layout=layout
    )
    assert result.check().output == "OK\n", str(result)


# Bundles, and what passes blocks on: short blocks and long ones, which go different ways.
NEIGHBOR_WAYS = [
    (Layout((2, 2, 2, 2)), "bundles"),
    (Layout((2, 2, 2, 2)), "once"),
    (Layout((3, 1, 4)), "once(pieces=16,piece_of_block=4096)"),
    (Layout((2, 2, 2, 2), cyclic=True), "friends(scope=1)"),
    (Layout((2, 2, 2, 2)), "mesh(cell=4096)"),
    (Layout((2, 2, 2, 2)), "mesh(of_nodes=1,cell=4096)"),
]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("layout", "algorithm"), NEIGHBOR_WAYS, ids=str)
def test_neighbors(cluster_mpi: Mpi, runner: Runner, cluster: Cluster, layout: Layout, algorithm: str):
    command = [compile_program(cluster_mpi, "neighbor_lengths.c")]
    environment = {
        "UNISONO_ALGORITHM": f"neighbor_allgather:{algorithm},neighbor_allgatherv:{algorithm}",
        "UNISONO_SET_UP_AFTER": "0",
    }
    result = runner.unisono(
        cluster_mpi, layout.ranks, command, environment, timeout=TIMEOUT, cluster=cluster, layout=layout
    )
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(2)
def test_a_node_fails(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    """One rank is killed inside a collective: the launcher ends the job on all nodes."""
    layout = Layout((2, 2))
    command = [compile_program(cluster_mpi, "kill.c")]
    result = runner.unisono(cluster_mpi, 4, command, timeout=30, cluster=cluster, layout=layout)
    assert not result.is_timed_out and result.status != 0, str(result)
    for node in range(2):
        lines = cluster.on_node(node, "ps", "ax").splitlines()
        # One that is dead, and that nobody has asked for yet, does not run.
        running = [line for line in lines if "kill-c" in line and "<defunct>" not in line]
        assert not running, f"ranks go on running on node{node}"
        assert "unisono" not in cluster.on_node(node, "ls", "/dev/shm")
