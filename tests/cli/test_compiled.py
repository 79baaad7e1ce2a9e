# SPDX-License-Identifier: BSD-3-Clause
"""The compiled parts keep what docs/inside/tool.md promises, and the commands work on them."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import BUILD, FIXTURES, Stage, needs_build
from unisono import __version__

pytestmark = needs_build

OPERATIONS = [
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "allgatherv",
    "reduce_scatter",
    "alltoallv",
    "alltoallw",
    "gatherv",
    "scatterv",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
]
# Every kind of group, and every manner of needs, in few calls.
DRAWN = [
    ["neighbor_allgather", "--algorithm", "bundles", "--layout", "2x4", "--graph", "ring"],
    ["bcast", "--algorithm", "binomial", "--ranks", "5", "--root", "3"],
    ["allreduce", "--algorithm", "recursive_doubling", "--ranks", "8"],
]


def test_version(stage: Stage, built: dict[str, str]) -> None:
    found = json.loads(stage.unisono("info", "--json", environment=built).stdout)
    assert found["compiled"] == __version__
    assert all(part["found"] for part in found["parts"]), found["parts"]


def thread_local_bytes(library: Path) -> int:
    """How much of each thread's memory a library wants (64-bit ELF: the size in memory of its PT_TLS)."""
    data = library.read_bytes()
    (begin,) = struct.unpack_from("=Q", data, 32)
    each, count = struct.unpack_from("=HH", data, 54)
    headers = [struct.unpack_from("=IIQQQQQQ", data, begin + i * each) for i in range(count)]
    return sum(header[6] for header in headers if header[0] == 7)


def test_libraries_leave_room_for_others() -> None:
    """glibc has 1,664 bytes of each thread for libraries that are loaded late. Who finds too little is not loaded."""
    libraries = sorted((BUILD / "lib").glob("libunisono-*.so"))
    assert libraries
    for library in libraries:
        assert 0 < thread_local_bytes(library) <= 1024, library


def test_options(stage: Stage, built: dict[str, str]) -> None:
    options = json.loads(stage.unisono("options", "--json", environment=built).stdout)
    fields = set(json.loads((FIXTURES / "options.json").read_text())[0])
    for option in options:
        assert set(option) == fields
        assert all(isinstance(value, str) for value in option.values())
        assert option["environment"] == f"UNISONO_{option['name'].upper()}"
        assert option["cli"] == f"--{option['name'].replace('_', '-')}"
        assert (
            option["type"] in ("bool", "bytes", "integer", "percent", "text", "file", "files", "list")
            or "|" in option["type"]
        )
        assert option["help"].endswith(".")
    names = [option["name"] for option in options]
    assert len(set(names)) == len(names)
    assert {"algorithm", "report", "log"} <= set(names)
    assert "--algorithm LIST" in stage.unisono("run", "--help", environment=built).stdout


def test_list(stage: Stage, built: dict[str, str]) -> None:
    algorithms = json.loads(stage.unisono("list", "--json", environment=built).stdout)
    fields = json.loads((FIXTURES / "list.json").read_text())[0]
    for algorithm in algorithms:
        assert set(algorithm) == set(fields)
        assert {name: type(value) for name, value in algorithm.items()} == {
            name: type(value) for name, value in fields.items()
        }
        assert algorithm["operation"] in OPERATIONS
        assert algorithm["sentence"].endswith(".") and algorithm["source"]
        for parameter in algorithm["parameters"]:
            assert set(parameter) == set(fields["parameters"][0])
            assert parameter["low"] <= parameter["default"] <= parameter["high"]
    names = [(algorithm["operation"], algorithm["name"]) for algorithm in algorithms]
    assert len(set(names)) == len(names)
    assert {operation for operation, _ in names} == set(OPERATIONS)


@pytest.mark.parametrize("words", DRAWN, ids=[words[0] for words in DRAWN])
def test_show(stage: Stage, built: dict[str, str], words: list[str]) -> None:
    text = stage.unisono("show", *words, environment=built)
    assert text.returncode == 0, text.stderr
    assert len(text.stdout.splitlines()) > 2
    assert stage.unisono("show", *words, "-o", "f.svg", environment=built).returncode == 0
    assert ElementTree.parse(stage.work / "f.svg").getroot().tag.endswith("svg")
    json.loads(stage.unisono("show", *words, "--json", environment=built).stdout)


@pytest.mark.parametrize(
    "words",
    [
        ["bcast", "--algorithm", "binomial", "--ranks", "4", "--root", "4"],
        ["bcast", "--algorithm", "binomial", "--ranks", "0"],
        ["bcast", "--algorithm", "native"],
        ["bcast", "--algorithm", "chain(segment=8K"],
        ["bcast", "--algorithm", "chain(nosuch=8K)"],
    ],
)
def test_show_refuses(stage: Stage, built: dict[str, str], words: list[str]) -> None:
    answer = stage.unisono("show", *words, environment=built)
    assert answer.returncode == 2
    assert answer.stderr.strip()


def test_show_takes_parameters_with_the_name(stage: Stage, built: dict[str, str]) -> None:
    """As reports and `run --algorithm` write them; options go before."""
    words = ["show", "bcast", "--algorithm", "chain(segment=8K,window=3)", "--json"]
    drawn = json.loads(stage.unisono(*words, environment=built).stdout)["parameters"]
    assert (drawn["segment"], drawn["window"]) == (8192, 3)
    drawn = json.loads(stage.unisono(*words, "--segment", "4K", environment=built).stdout)["parameters"]
    assert (drawn["segment"], drawn["window"]) == (4096, 3)


@pytest.mark.parametrize(
    ("algorithm", "line"),
    [
        ("chain(segment=8K)", "rank 1    sends     ..00112233"),
        ("shared(piece=8K)", "rank 1    on node   ..00112233"),
        ("binomial", None),
    ],
)
def test_show_draws_pieces_in_time(
    stage: Stage, built: dict[str, str], algorithm: str, line: str | None
) -> None:
    """Each rank hands a piece on as soon as it has it. Nothing is drawn of what is not cut."""
    words = ["show", "bcast", "--algorithm", algorithm, "--count", "32K", "--ranks", "3"]
    answer = stage.unisono(*words, environment=built)
    assert answer.returncode == 0, answer.stderr
    assert ("In time" in answer.stdout) == (line is not None)
    assert line is None or line in answer.stdout.splitlines()


def test_show_counts_what_crosses_borders(stage: Stage, built: dict[str, str]) -> None:
    words = ["show", "allreduce", "--algorithm", "fused", "--layout", "2x2x4", "--transfers"]
    refused = stage.unisono(*words, environment=built)
    assert refused.returncode == 2 and "fused needs all ranks on one node" in refused.stderr, refused.stderr
    words[5] = "1x2x4"
    found = json.loads(stage.unisono(*words, "--json", environment=built).stdout)
    assert found["bytes"] == 8 and found["layout"] == "1x2x4"
    of_domains = found["borders"][1]
    assert (of_domains["between"], of_domains["parts"]) == ("numa", 2)
    assert (of_domains["lines"], of_domains["least_lines"]) == (2 * 4 * 4, 2)
    shown = stage.unisono(*words, "--count", "1K", environment=built).stdout
    assert "NUMA domains" in shown and "at least" in shown and "1 KiB" in shown
    uneven = ["show", "alltoallv", "--algorithm", "pairwise", "--transfers"]
    assert "equally long" in stage.unisono(*uneven, environment=built).stderr
    assert stage.unisono(*words, "-o", "f.svg", environment=built).returncode == 2


def test_show_knows_a_sources_name(stage: Stage, built: dict[str, str]) -> None:
    answer = stage.unisono("show", "alltoall", "--algorithm", "2D mesh", "--ranks", "4", environment=built)
    assert answer.stdout.startswith("alltoall, mesh_2d: 4 ranks"), answer.stderr


def test_show_names_the_algorithms_there_are(stage: Stage, built: dict[str, str]) -> None:
    answer = stage.unisono("show", "bcast", "--algorithm", "frob", environment=built)
    assert answer.returncode == 2
    assert re.search(
        "there is no algorithm 'frob' for bcast \\(`unisono list bcast` names them\\)", answer.stderr
    )


def test_show_has_no_steps_of_agents(stage: Stage, built: dict[str, str]) -> None:
    """They are known by name, also where one has no agents."""
    answer = stage.unisono("show", "barrier", "--algorithm", "agents", environment=built)
    assert answer.returncode == 2
    assert "agents is no schedule of the ranks: agents beside them make the call" in answer.stderr


def test_check(stage: Stage, built: dict[str, str]) -> None:
    answer = stage.unisono("check", "--operation", "bcast", "--ranks", "1-4", environment=built)
    assert answer.returncode == 0, answer.stderr
    match = re.match(r"([\d,]+) of ([\d,]+) cases proved, (\d+) algorithms", answer.stdout)
    assert match is not None, answer.stdout
    assert match[1] == match[2] != "0"


@pytest.mark.parametrize("words", [["--operation", "frob"], ["--algorithm", "frob"], ["--ranks", "x"]])
def test_check_refuses(stage: Stage, built: dict[str, str], words: list[str]) -> None:
    answer = stage.unisono("check", *words, environment=built)
    assert answer.returncode == 2
    assert words[1] in answer.stderr


def test_shim_sets_and_starts(stage: Stage, built: dict[str, str]) -> None:
    """The real shim with a program that never calls MPI: settings, arguments and exit status go through."""
    script = 'echo "$UNISONO_LOG|$1"; exit 7'
    answer = stage.unisono("run", "--log", "quiet", "sh", "-c", script, "sh", "a b", environment=built)
    assert (answer.returncode, answer.stdout, answer.stderr) == (7, "quiet|a b\n", "")
