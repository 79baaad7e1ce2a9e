# SPDX-License-Identifier: BSD-3-Clause
"""The profile of a report: its verdict, its tables, and its place on the page."""

from __future__ import annotations

import copy
import io
import json
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from conftest import FIXTURES
from rich.console import Console
from test_report import SCHEMA
from unisono.commands.group import cli
from unisono.page import build, sources
from unisono.reporting import profile, report

REPORT = json.loads((FIXTURES / "report.json").read_text())


def spread(mean: float, least: float | None = None, most: float | None = None) -> dict[str, float]:
    return {"min": mean if least is None else least, "mean": mean, "max": mean if most is None else most}


def row(name: str, kind: str, mean_s: float, partner: str = "none", size: int = 0) -> dict[str, Any]:
    cell = {
        "size_class": f"{size} B",
        "bytes_low": size,
        "bytes_high": size,
        "partner": partner,
        "calls": 40,
        "bytes": 40 * size,
        "time_s": 4 * mean_s,
    }
    return {
        "function": name,
        "kind": kind,
        "sends": kind == "point-to-point" and size > 0,
        "estimated": False,
        "ranks": 4,
        "calls": 40,
        "calls_min": 10,
        "calls_max": 10,
        "bytes": 40 * size,
        "time_s": spread(mean_s),
        "cells": [cell],
    }


def made(*rows: dict[str, Any], longest_outside_s: float | None = None) -> dict[str, Any]:
    """Of four ranks that run for 10 s."""
    in_mpi_s = sum(one["time_s"]["mean"] for one in rows if one["kind"] != "start and end")
    outside_s = 10 - in_mpi_s
    return {
        "ranks": 4,
        "threads": 1,
        "run_s": spread(10),
        "in_mpi_s": spread(in_mpi_s),
        "outside_s": spread(outside_s, None, longest_outside_s),
        "functions": sorted(rows, key=lambda one: -one["time_s"]["mean"]),
    }


BARRIER = row("MPI_Barrier", "collective", 0.001, "same node")
REDUCE = row("MPI_Allreduce", "collective", 4, "other node", 8)
SEND = row("MPI_Send", "point-to-point", 1, "other node", 1024)
WAIT = row("MPI_Waitall", "completion", 3)
WRITE = row("MPI_File_write_all", "file", 5)
HALO = row("MPI_Neighbor_alltoall", "neighborhood", 4, "other node", 8)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (made(BARRIER), ["MPI is no problem here: it takes 0.0%"]),
        (made(row("MPI_Init", "start and end", 9)), ["MPI is no problem here"]),
        (
            made(REDUCE),
            ["Collectives take 40% of the run, most of it MPI_Allreduce of up to 8 B", "unisono run"],
        ),
        (
            made(REDUCE, longest_outside_s=9),
            ["Waiting is the problem: 30% of the run or more", "Collectives take 40%"],
        ),
        (
            made(SEND, WAIT, BARRIER),
            [
                "Messages between two ranks take 40% of the run",
                "MPI_Waitall",
                "100% of the bytes go to other nodes",
                "Collectives take 0.0% of the run",
            ],
        ),
        (
            made(HALO, BARRIER),
            [
                "Collectives of neighbours take 40% of the run, most of it MPI_Neighbor_alltoall",
                "unisono run",
            ],
        ),
        (
            made(WRITE, row("MPI_Neighbor_alltoall", "neighborhood", 1)),
            ["Collectives take 10.0% of the run: Unisono can gain no more"],
        ),
        (made(WRITE), ["Reading and writing files takes 50% of the run, most of it MPI_File_write_all"]),
    ],
    ids=["nothing", "start alone", "collectives", "waiting", "messages", "neighbors", "both", "files"],
)
def test_verdict(found: dict[str, Any], wanted: list[str]) -> None:
    said = " ".join(profile.verdict(found))
    for text in wanted:
        assert text in said, said


STARTED = row("MPI_Iallreduce", "collective", 0.1, "other node", 8)
MADE = row("MPI_Alltoall_init", "collective", 0.1, "other node")
ISEND = row("MPI_Isend", "point-to-point", 0.5, "same node", 1024)
NEIGHBORS = row("MPI_Ineighbor_alltoall", "neighborhood", 0.1, "same node", 8)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (
            made(STARTED, WAIT),
            "Collectives take 31% of the run, waits for them included, most of it MPI_Waitall.",
        ),
        (made(SEND, STARTED, WAIT), "Collectives take 31% of the run, waits for them included"),
        (made(row("MPI_Iprobe", "point-to-point", 1), STARTED, WAIT), "Collectives take 31% of the run"),
        (made(STARTED, row("MPI_Test", "completion", 3)), "Collectives take 31% of the run"),
        (made(NEIGHBORS, WAIT), "Collectives of neighbours take 31% of the run, waits for them included"),
        (made(NEIGHBORS, STARTED, WAIT), "Collectives take 31% of the run, waits for them included"),
        (made(MADE, row("MPI_Start", "point-to-point", 1), WAIT), "Collectives take 41% of the run"),
        (made(ISEND, WAIT), "Messages between two ranks take 35% of the run, waits for them included"),
        (
            made(row("MPI_File_iwrite_at", "file", 1), WAIT),
            "Reading and writing files takes 40% of the run, waits for it included",
        ),
        (
            made(row("MPI_Rput", "one-sided", 1, "same node", 8), WAIT),
            "One-sided communication takes 40% of the run",
        ),
    ],
)
def test_waits_belong_to_what_was_started(found: dict[str, Any], wanted: str) -> None:
    said = profile.verdict(found)
    assert said[0].startswith(wanted), said
    assert ("can gain no more" in " ".join(said)) == ("ollectives" not in wanted)


def test_waits_for_messages_and_collectives_are_of_both() -> None:
    said = " ".join(profile.verdict(made(ISEND, WAIT, STARTED)))
    assert said.startswith("Waits for requests take 30% of the run, most of it MPI_Waitall. They are of ")
    assert "messages between two ranks (MPI_Isend)" in said and "collectives (MPI_Iallreduce)" in said
    assert "cannot be told apart" in said
    assert "Collectives take 1.0% of the run, and with all waits 31.0%: Unisono can gain no more" in said


def test_waits_for_messages_and_files_are_none_of_collectives() -> None:
    said = " ".join(profile.verdict(made(ISEND, WAIT, row("MPI_File_iread", "file", 0.1))))
    assert "messages between two ranks (MPI_Isend) and of files (MPI_File_iread)" in said
    assert "Unisono leaves them to the MPI. Collectives take 0.0% of the run: Unisono can" in said


def test_agents_go_on_with_started_collectives_between_nodes() -> None:
    assert "--agents 1" in profile.verdict(made(STARTED, WAIT))[0]
    near = row("MPI_Iallreduce", "collective", 0.1, "same node", 8)
    for found in (made(near, WAIT), made(MADE, WAIT), made(NEIGHBORS, WAIT), made(REDUCE)):
        assert "agents" not in " ".join(profile.verdict(found))


def test_messages_inside_a_node_are_not_to_be_placed_elsewhere() -> None:
    near = row("MPI_Send", "point-to-point", 1, "same node", 1024)
    said = " ".join(profile.verdict(made(near)))
    assert "send while the program computes" in said and "node" not in said
    far = " ".join(profile.verdict(made(SEND)))
    assert "place ranks that talk much on one node" in far


def test_no_rank_is_longer_in_mpi_than_it_runs() -> None:
    found = made(REDUCE)
    found["in_mpi_s"]["max"] = 10.2
    assert "to 100.0% on the ranks" in profile.headline(found)


@pytest.mark.parametrize("width", [80, 200])
def test_tables(width: int) -> None:
    content = copy.deepcopy(REPORT) | {"profile": made(SEND, WAIT, WRITE)}
    jsonschema.validate(content, SCHEMA)
    stream = io.StringIO()
    report.render(content, Console(file=stream, width=width, highlight=False))
    shown = stream.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    lines = [line.split() for line in shown.splitlines()]
    (line,) = [words for words in lines if words[:2] == ["MPI_Send", "40"]]
    assert "10.0%" in line
    assert "100% to other nodes" in shown


def test_page() -> None:
    content = copy.deepcopy(REPORT) | {"profile": made(REDUCE, SEND)}
    page = build.page([sources.Run("a run", content)])
    assert 'id="profile"' in page and "MPI_Send" in page
    assert 'id="profile"' not in build.page([sources.Run("a run", copy.deepcopy(REPORT))])


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"])
def test_behind_the_launcher(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "2")
    answer = CliRunner().invoke(cli, ["profile", "./program"])
    assert answer.exit_code == 2
    assert "write `unisono profile` before the launcher" in answer.output


def test_a_folder_that_takes_no_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/proc/self")
    answer = CliRunner().invoke(cli, ["profile", "mpirun", "./program"])
    assert answer.exit_code == 1
    assert "the profile is written into the working directory, which takes none (" in answer.output
