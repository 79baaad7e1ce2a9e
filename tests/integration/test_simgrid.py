# SPDX-License-Identifier: BSD-3-Clause
"""Unisono's schedules over SimGrid's SMPI: right results, times that follow from the platform, and clear words without it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mpis import ROOT

sys.path.insert(0, str(ROOT / "tools/simgrid"))

import smpi
from compare import OPERATIONS
from platforms import EAGER_BYTES, LATENCY_S, OVERHEAD_S, Platform

COMMAND = [sys.executable, str(ROOT / "tools/simgrid/compare.py")]


@pytest.fixture(scope="module", autouse=True)
def _simgrid() -> None:
    try:
        smpi.require()
    except smpi.SimGridError as error:
        pytest.skip(str(error))


def test_times_follow_from_the_platform() -> None:
    """A small message takes its links and both overheads; a tree of doubling one message a round."""
    answers = smpi.run(
        Platform("torus", 16),
        ["messages 0 1 8", "call allreduce 8 recursive_doubling", "call allreduce 8 native", "shift 1 8"],
    )
    message, doubling, native, shift = answers
    # To the next node: its own link, and what a node's own switch takes.
    link_us, overhead_us = 1e6 * LATENCY_S, 1e6 * OVERHEAD_S
    assert message["half"] == pytest.approx(2 * overhead_us + link_us, rel=0.02)
    assert message["os"] == pytest.approx(overhead_us, rel=0.01) and message["or"] == pytest.approx(
        overhead_us, rel=0.01
    )
    assert doubling["result"] == native["result"]
    # Four rounds, of one hop to as many as the torus is wide.
    assert 4 * message["half"] <= doubling["us"] <= 4 * (2 * overhead_us + 4 * link_us) * 1.02
    assert shift["us"] >= message["half"] * 0.99


@pytest.mark.dear
@pytest.mark.parametrize(("network", "selectors"), [("dragonfly", "ompi"), ("torus", "mvapich2,impi")])
def test_all_operations_come_to_the_same_results(tmp_path: Path, network: str, selectors: str) -> None:
    """By Unisono's algorithms and by the selectors', on 16 nodes; compare.py ends where two ways to make a call differ."""
    words = ["--platforms", network, "--ranks", "16", "--sizes", "8", "--selectors", selectors]
    done = subprocess.run(
        [*COMMAND, *words, "--output", str(tmp_path / "all")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "all.json").read_text())
    assert [cell["operation"] for cell in cells] == list(OPERATIONS)
    for cell in cells:
        assert set(cell["native_us"]) == set(selectors.split(",")) and min(cell["native_us"].values()) > 0, (
            cell
        )
        assert set(cell["unisono_us"]) == set(cell["predicted_us"]) and min(cell["unisono_us"].values()) > 0
        assert set(cell["results"]) == {*cell["unisono_us"], *cell["native_us"]}
        (result,) = set(cell["results"].values())
        assert result is not None and (result == "0") == (cell["operation"] == "barrier"), cell


@pytest.mark.dear
def test_the_same_comes_twice(tmp_path: Path) -> None:
    """To the last digit, on 16 nodes."""
    short = ["--platforms", "fat-tree", "--ranks", "16", "--sizes", "8,4K", "--selectors", "mpich"]
    texts = []
    for name in ("first", "second"):
        file = tmp_path / name
        done = subprocess.run(
            [*COMMAND, *short, "--output", str(file), "--operations", "allreduce,scan,gather,alltoallv"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        texts.append(file.with_suffix(".json").read_text())
        assert file.with_suffix(".png").stat().st_size > 1000
    assert texts[0] == texts[1]
    cells = json.loads(texts[0])
    assert [cell["operation"] for cell in cells] == [
        name for name in ("allreduce", "scan", "gather", "alltoallv") for _ in range(2)
    ]
    for cell in cells:
        assert len(set(cell["results"].values())) == 1 and None not in cell["results"].values()
        assert 8 <= cell["bytes"] < EAGER_BYTES
        # The model is not far off where messages have the network to themselves.
        if cell["operation"] == "allreduce":
            chosen = cell["chosen"]
            assert abs(math.log(cell["unisono_us"][chosen] / cell["predicted_us"][chosen])) < math.log(1.5)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(smpi.SimGridError, match="there is no algorithm"):
        smpi.run(Platform("torus", 16), ["call allreduce 8 no_such_thing"])
    python = tmp_path / "bin"
    python.mkdir()
    done = subprocess.run(
        COMMAND, capture_output=True, text=True, check=False, env=os.environ | {"PATH": str(python)}
    )
    assert done.returncode == 1
    assert "apt-get install --no-install-recommends libsimgrid-dev" in done.stderr
