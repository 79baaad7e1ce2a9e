# SPDX-License-Identifier: BSD-3-Clause
"""`unisono graph`: graphs that are named, of matrices and of reports; counts, pictures, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, Stage, needs_build

pytestmark = needs_build

_MATRIX = """%%MatrixMarket matrix coordinate real general
4 4 5
1 1 1.0
1 3 2.0
2 2 1.0
3 1 1.0
4 2 1.0
"""


def _answer(stage: Stage, environment: dict[str, str], *words: str) -> dict[str, Any]:
    answer = stage.unisono("graph", *words, "--json", environment=environment)
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def _of(answer: dict[str, Any], method: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in answer["methods"] if one["method"] == method)
    return found


def test_moore(stage: Stage, built: dict[str, str]) -> None:
    answer = _answer(stage, built, "--moore", "2,2", "--ranks", "256", "--ppn", "16", "--hyperedges")
    assert (answer["ranks"], answer["nodes"], answer["out"]["most"]) == (256, 16, 24)
    linear, bundles = _of(answer, "linear"), _of(answer, "bundles")
    assert linear["messages"] == {"mean": 24.0, "most": 24}
    # A row of the torus is a node: two nodes on either side.
    assert bundles["all_messages_between"] == answer["bounds"]["node_pairs"] == 64
    assert bundles["blocks_into_node"]["mean"] == answer["bounds"]["blocks_into_node"]["mean"] == 64
    assert bundles["us"][0] < linear["us"][0]
    assert bundles["break_even_calls"][0] >= 1
    assert _of(answer, "friends(k=2)")["hyperedges"] == 8  # up to four away in the row
    assert sum(map(sum, bundles["matrix"])) == 64


def test_text(stage: Stage, built: dict[str, str]) -> None:
    answer = stage.unisono("graph", "--random", "96,0.3", "--ppn", "12", "--size", "8,4K", environment=built)
    assert answer.returncode == 0, answer.stderr
    for said in (
        "random graph of density 0.3",
        "Destinations of a rank",
        "bundles",
        "4 KiB",
        "Messages between nodes, linear",
    ):
        assert said in answer.stdout
    assert "Times are the model's." in answer.stdout


def test_alltoall_has_fewer_methods(stage: Stage, built: dict[str, str]) -> None:
    answer = _answer(
        stage, built, "--cart", "4x4x2,periodic", "--ppn", "8", "--operation", "neighbor_alltoall"
    )
    assert [one["method"] for one in answer["methods"]] == ["linear", "bundles"]
    assert _of(answer, "linear")["messages"]["mean"] == 6


def test_matrix(stage: Stage, built: dict[str, str]) -> None:
    pytest.importorskip("scipy")
    (stage.work / "small.mtx").write_text(_MATRIX)
    answer = _answer(stage, built, "small.mtx", "--ranks", "4", "--ppn", "2")
    # Row 0 needs column 2, row 2 column 0, row 3 column 1.
    assert _of(answer, "linear")["messages_between"] == {"mean": 0.75, "most": 1}
    assert _of(answer, "linear")["matrix"] == [[0, 2], [1, 0]]
    few = stage.unisono("graph", "small.mtx", "--ranks", "5", environment=built)
    assert few.returncode == 2
    assert "too few for a stripe on each of 5 ranks; --ranks 4" in few.stderr
    (stage.work / "bad.mtx").write_text("nothing of the kind")
    bad = stage.unisono("graph", "bad.mtx", "--ranks", "2", environment=built)
    assert bad.returncode == 2
    assert "bad.mtx: is no matrix in Matrix Market's format" in bad.stderr


_HEADER = "%%MatrixMarket matrix coordinate real general\n"


def test_matrices_of_odd_sizes(stage: Stage, built: dict[str, str]) -> None:
    pytest.importorskip("scipy")
    # Stripes of 3, 2 and 2 rows: row 3 is the second rank's, row 7 the last one's.
    (stage.work / "seven.mtx").write_text(_HEADER + "7 7 3\n3 4 1\n7 5 1\n4 5 1\n")
    answer = _answer(stage, built, "seven.mtx", "--ranks", "3", "--ppn", "1")
    assert _of(answer, "linear")["matrix"] == [[0, 0, 0], [1, 0, 1], [0, 0, 0]]
    # Memory goes by the entries, not by the rows.
    (stage.work / "long.mtx").write_text(_HEADER + "99999999999 99999999999 1\n1 99999999999 1\n")
    answer = _answer(stage, built, "long.mtx", "--ranks", "3", "--ppn", "1")
    assert _of(answer, "linear")["matrix"] == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]
    for name, size, said in (
        ("empty.mtx", "0 0 0", "has 0 rows and 0 columns, none for a rank to have"),
        ("large.mtx", "3 3 999999999999999", "is too large a matrix for this machine's memory"),
    ):
        (stage.work / name).write_text(f"{_HEADER}{size}\n")
        wrong = stage.unisono("graph", name, "--ranks", "2", environment=built)
        assert wrong.returncode == 2
        assert f"{name}: {said}" in wrong.stderr


def _report(folder: Path, graphs: list[dict[str, Any]]) -> None:
    content = json.loads((FIXTURES / "report.json").read_text())
    (folder / "run.json").write_text(json.dumps({**content, "graphs": graphs}))


def test_report(stage: Stage, built: dict[str, str]) -> None:
    ring = [[rank, (rank + step) % 4] for rank in range(4) for step in (1, 3)]
    degrees = {"out_degrees": [[2, 4]], "in_degrees": [[2, 4]]}
    first = {"communicator": 3, "ranks": 4, "layout": "2x2", "edge_count": 8, "edges": ring, **degrees}
    large = {"communicator": 5, "ranks": 4, "edge_count": 8, "edges": None, **degrees}
    _report(stage.work, [first])
    answer = _answer(stage, built, "run.json")
    assert (answer["ranks"], answer["nodes"]) == (4, 2)
    assert _of(answer, "linear")["all_messages_between"] == 4
    assert _of(answer, "bundles")["all_messages_between"] == 2
    _report(stage.work, [first, large])
    which = stage.unisono("graph", "run.json", environment=built)
    assert which.returncode == 2
    assert "communicators 3, 5 have neighbours; say which: --comm 3" in which.stderr
    counted = stage.unisono("graph", "run.json", "--comm", "5", environment=built)
    assert counted.returncode == 0, counted.stderr
    assert "The report has only its degrees" in counted.stdout
    _report(stage.work, [{**first, "edges": [[0, 4]]}])
    damaged = stage.unisono("graph", "run.json", environment=built)
    assert damaged.returncode == 2
    assert "what it says of neighbours is damaged" in damaged.stderr


def test_pictures(stage: Stage, built: dict[str, str]) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    words = ("--random", "40,0.2", "--ppn", "8", "--plot", "graph.svg", "--html", "graph.html")
    answer = stage.unisono("graph", *words, environment=built)
    assert answer.returncode == 0, answer.stderr
    assert (stage.work / "graph.svg").read_text().startswith("<?xml")
    page = (stage.work / "graph.html").read_text()
    for said in (
        "random graph of density 0.2",
        "Neighbours of a rank",
        "Messages between nodes",
        "<title>0 to 1: ",
    ):
        assert said in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "say which graph"),
        (["--moore", "2,1", "--cart", "4x4"], "say which graph, one of"),
        (["--moore", "2,1"], "say how many ranks the torus has"),
        (["--moore", "two", "--ranks", "16"], "moore takes a number of dimensions"),
        (["--random", "0.4"], "--random takes ranks and a density"),
        (["--random", "64,1.5"], "random takes a density from 0 to 1"),
        (["--random", "65536,0.9"], "at most 16777216 are looked at"),
        (["--cart", "4x"], "--cart takes the extent of each dimension"),
        (["--cart", "4x4", "--ranks", "15"], "the graph has 16 ranks, --ranks says 15"),
        (["--cart", "4x4", "--layout", "3x4"], "holds 12 ranks, the graph has 16"),
        (["--cart", "4x4", "--layout", "4x4", "--ppn", "4"], "leave one of them out"),
        (["--cart", "4x4", "--methods", "bundels"], "did you mean 'bundles'"),
        (["--cart", "4x4", "--methods", "friends(k=1)"], "takes a whole number from 2"),
        (["--cart", "4x4", "--methods", "friends(j=3)"], "friends takes no setting 'j'"),
        (["--cart", "4x4", "--methods", "mesh(lengths=2x2,of=ranks)"], "fewer than 16 places"),
        (
            ["--cart", "4x4", "--operation", "neighbor_alltoall", "--methods", "once"],
            "for blocks that all neighbours get",
        ),
        (["--cart", "4x4", "--comm", "1"], "--comm is for the report of a run"),
        ([str(FIXTURES / "report.json")], "tells of no communicator with neighbours"),
    ],
)
def test_refuses(stage: Stage, built: dict[str, str], words: list[str], problem: str) -> None:
    answer = stage.unisono("graph", *words, environment=built)
    assert answer.returncode == 2, answer.stdout
    assert problem in answer.stderr


@pytest.mark.parametrize(
    ("words", "operation", "least"),
    [
        ("--moore 2,4 --ranks 4096 --ppn 40", "neighbor_allgather", 6.5),
        ("--random 1024,0.2 --ppn 32", "neighbor_allgather", 12),
        ("--moore 2,4 --ranks 4096 --ppn 40", "neighbor_alltoall", 4.5),
        ("--random 1024,0.2 --ppn 32", "neighbor_alltoall", 6.5),
    ],
)
def test_combined_messages_are_few_and_fast(
    stage: Stage, built: dict[str, str], words: str, operation: str, least: float
) -> None:
    answer = _answer(
        stage, built, *words.split(), "--methods", "linear,bundles", "--size", "8", "--operation", operation
    )
    linear, bundles = answer["methods"]
    assert bundles["all_messages_between"] == answer["bounds"]["node_pairs"]
    assert linear["us"][0] / bundles["us"][0] >= least


def test_a_mesh_pays_for_telling_all_ranks_the_graph(stage: Stage, built: dict[str, str]) -> None:
    """Two allgathers by Bruck's algorithm of 1024 ranks, a round of 2.1 us each, and 8 bytes for each edge and rank."""
    words = ("--random", "1024,0.2", "--ppn", "4", "--methods", "linear,mesh(of=ranks,lengths=32x32),bundles")
    mesh, bundles = _answer(stage, built, *words)["methods"][1:]
    edges = 0.2 * 1024 * 1023
    told_us = 2 * 10 * 2.1 + 8 * edges * 4 / 12e3
    assert mesh["setup_us"] > 50 + told_us * 0.98 and bundles["setup_us"] > 50
    gained = _answer(stage, built, *words)["methods"][0]["us"][0] - mesh["us"][0]
    assert mesh["break_even_calls"][0] >= (50 + told_us * 0.98) / gained
