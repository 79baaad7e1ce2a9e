# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of neighbours in all forms, on all kinds of topologies, against what the standard says of the order of blocks."""

from __future__ import annotations

import json
import os
from collections import Counter

import job
import pytest
from harness import ROOT, Runner, compile_program
from mpis import Mpi

OPERATIONS = [
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
]
# Where a rank is a neighbour twice, MPIs put blocks of MPI_Neighbor_alltoall in each other's place: on these graphs, in calls that
# block as well, or only in others. (MPICH 5 does not. Where blocks differ in length, some MPIs end the program.)
SHORT_DIMENSIONS = {"ring", "ring-of-one-beside", "torus-of-two", "borders"}
DOUBLE_EDGES = {"graph", "adjacent-double", "adjacent-mixed", "distributed-mixed"}
WRONG = {
    "openmpi4": (SHORT_DIMENSIONS, False),
    "openmpi5": (SHORT_DIMENSIONS, False),
    "mpich4": (DOUBLE_EDGES, True),
    "intel": (SHORT_DIMENSIONS, True),
}


# In the second way of `once` all blocks go the way of those that are too long for a bundle, in pieces.
WAYS = [
    (2, "linear"),
    (2, "shared"),
    (4, "shared"),
    (4, "bundles"),
    (2, "fused"),
    (4, "fused"),
    (4, "once"),
    (4, "once(bundle_up_to=0,share_up_to=0,piece_of_block=16)"),
    (4, "mesh"),
    (4, "mesh(cell=0)"),
    (4, "friends(scope=1)"),
]
# What only those have in which all neighbours get the same.
OF_ONE_BLOCK = ("once", "mesh", "friends")


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]}-{way[1]}")
def test_all_forms_on_all_graphs(mpi: Mpi, runner: Runner, way: tuple[int, str]):
    report = runner.scratch / "report.json"
    ranks, algorithm = way
    name = algorithm.partition("(")[0]
    operations = OPERATIONS[:2] if name in OF_ONE_BLOCK else OPERATIONS
    nodes = {"UNISONO_NODES": "2x2"} if name in ("bundles", *OF_ONE_BLOCK) else {}
    environment = nodes | {
        "UNISONO_PROGRESS": "calls",
        "UNISONO_ALGORITHM": ",".join(f"{operation}:{algorithm}" for operation in operations),
        "UNISONO_SET_UP_AFTER": "0",
        "UNISONO_REPORT": str(report),
    }
    command = [compile_program(mpi, "neighbor_edges.c")]
    result = runner.unisono(mpi, ranks, command, environment, timeout=120).check()
    assert result.output == "OK\n", str(result)
    served = {
        (entry["operation"], entry["form"])
        for entry in json.loads(report.read_text())["classes"]
        if entry["algorithm"].partition("(")[0] == name
    }
    # Calls that do not block are the slots' or messages' there.
    forms = ("blocking",) if name == "fused" else ("blocking", "non-blocking", "persistent")
    assert served >= {(operation, form) for operation in operations for form in forms}


# Blocks of all lengths, on layouts in which nodes have several ranks, and one.
BY_LENGTH = [
    ("2x4", "bundles"),
    ("2x4", "once"),
    ("3,1,4", "once(pieces=16,piece_of_block=4096,buffers=3)"),
    ("2x4", "friends(k=2)"),
    ("4x2", "friends(k=4,scope=1,cell=4096)"),
    ("4x2", "friends(cumulative=1)"),
    ("8x1", "mesh"),
    ("8x1", "mesh(dimensions=16,cell=4096)"),
    ("4x2", "mesh(of_nodes=1,cell=4096)"),
    ("3,1,4", "mesh(of_nodes=1,dimensions=16)"),
]


@pytest.mark.in_turns(4, 1)
@pytest.mark.parametrize(("nodes", "algorithm"), BY_LENGTH)
def test_blocks_of_all_lengths(mpi: Mpi, runner: Runner, nodes: str, algorithm: str):
    report = runner.scratch / "report.json"
    environment = {
        "UNISONO_NODES": nodes,
        "UNISONO_ALGORITHM": ",".join(f"{operation}:{algorithm}" for operation in OPERATIONS[:2]),
        "UNISONO_SET_UP_AFTER": "0",
        "UNISONO_REPORT": str(report),
    }
    command = [compile_program(mpi, "neighbor_lengths.c")]
    assert runner.unisono(mpi, 8, command, environment, timeout=120).check().output == "OK\n"
    served = {
        entry["operation"]
        for entry in json.loads(report.read_text())["classes"]
        if entry["algorithm"].startswith(algorithm.partition("(")[0])
    }
    assert served >= set(OPERATIONS[:2])


@pytest.mark.dear
@pytest.mark.in_turns(4)
@pytest.mark.parametrize("single_copy", ["0", "1"])
def test_lines_without_streams(mpi: Mpi, runner: Runner, single_copy: str):
    """A node's memory may have no room for streams: long blocks are copied by the kernel then, or are messages."""
    report = runner.scratch / "report.json"
    environment = {
        "UNISONO_ALGORITHM": ",".join(f"{operation}:fused" for operation in OPERATIONS),
        "UNISONO_CHANNEL_BYTES": "64K",
        "UNISONO_SINGLE_COPY": single_copy,
        "UNISONO_SET_UP_AFTER": "0",
        "UNISONO_REPORT": str(report),
    }
    for program in ("neighbor_lengths.c", "neighbor_edges.c"):
        done = runner.unisono(mpi, 8, [compile_program(mpi, program)], environment, timeout=120).check()
        assert done.output.endswith("OK\n")
        blocking = [
            entry
            for entry in json.loads(report.read_text())["classes"]
            if entry["operation"] in OPERATIONS and entry["form"] == "blocking"
        ]
        assert blocking and {entry["algorithm"] for entry in blocking} == {"fused"}


@pytest.mark.in_turns(5)
def test_the_report_has_the_graphs(mpi: Mpi, runner: Runner):
    """Of each communicator that Unisono has served; `unisono graph` answers about them."""
    report = runner.scratch / "report.json"
    environment = {"UNISONO_SET_UP_AFTER": "0", "UNISONO_REPORT": str(report)}
    runner.unisono(mpi, 4, [compile_program(mpi, "neighbor_edges.c")], environment, timeout=120).check()
    graphs = json.loads(report.read_text())["graphs"]
    assert len(graphs) > 3
    for graph in graphs:
        edges, ranks = graph["edges"], graph["ranks"]
        assert len(edges) == graph["edge_count"]
        for degrees, end in ((graph["out_degrees"], 0), (graph["in_degrees"], 1)):
            of_ranks = Counter(sum(edge[end] == rank for edge in edges) for rank in range(ranks))
            assert degrees == [list(pair) for pair in sorted(of_ranks.items())]
    most = max(graphs, key=lambda graph: graph["edge_count"])
    command = [ROOT / ".venv/bin/unisono", "graph", report, "--comm", str(most["communicator"]), "--json"]
    answer = json.loads(job.run(command, dict(os.environ), timeout=60).check().output)
    linear = next(one for one in answer["methods"] if one["method"] == "linear")
    assert answer["ranks"] == most["ranks"]
    assert linear["messages"]["mean"] * most["ranks"] == sum(a != b for a, b in most["edges"])


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("operation", ["allgather", "allgatherv", "alltoall"])
def test_self_check(mpi: Mpi, runner: Runner, operation: str):
    """The MPI makes each call as well, in all forms, where the blocks of neighbours that are not there are nobody's."""
    report = runner.scratch / "report.json"
    name = f"neighbor_{operation}"
    environment = {
        "UNISONO_PROGRESS": "calls",
        "UNISONO_VERIFY": "all",
        "UNISONO_ALGORITHM": f"{name}:shared",
        "UNISONO_REPORT": str(report),
    }
    command = [compile_program(mpi, "neighbor_edges.c"), operation]
    result = runner.unisono(mpi, 2, command, environment, timeout=120).check()
    assert result.output == "OK\n", str(result)
    assert "was wrong" not in result.errors, str(result)
    rows = [row for row in json.loads(report.read_text())["classes"] if row["operation"] == name]
    assert {row["form"] for row in rows if row["checks"] > 0} >= {"blocking", "non-blocking"}, rows
    assert sum(row["mismatches"] for row in rows) == 0, rows


@pytest.mark.in_turns(5)
def test_an_edge_that_one_end_alone_names(mpi: Mpi, runner: Runner):
    """The MPI makes all calls there, in all forms, and the report says why."""
    report = runner.scratch / "report.json"
    command = [compile_program(mpi, "neighbor_one_ended.c")]
    result = runner.unisono(mpi, 4, command, {"UNISONO_REPORT": str(report)}).check()
    assert result.output.splitlines()[0] == "OK", str(result)
    assert result.errors.count("ranks describe the graph of a communicator differently") == 1, str(result)
    left = [row for row in json.loads(report.read_text())["native"] if row["operation"] == OPERATIONS[0]]
    assert [(row["calls"], "differently" in row["reason"]) for row in left] == [(12, True)], left


def test_what_mpis_do_where_edges_are_double(mpi: Mpi, runner: Runner):
    """What Unisono is not compared with: where an MPI does better than this says, the list above is out of date."""
    command = [compile_program(mpi, "neighbor_edges.c"), "alltoall"]
    *wrong, last = runner.run(mpi, 2, command, timeout=90).check().output.splitlines()
    assert last == "OK"
    graphs, is_blocking_wrong = WRONG.get(mpi.name, (set(), False))
    assert {line.split()[0] for line in wrong} == graphs
    assert any(line.endswith(" blocking") for line in wrong) == is_blocking_wrong
