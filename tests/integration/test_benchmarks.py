# SPDX-License-Identifier: BSD-3-Clause
"""Every command of benchmarks/ runs, briefly: what it measures is for quiet machines and longer times, that it still can is not.

Where a page shows the command with options it runs with these, but those that make it short take the place of what the page says."""

from __future__ import annotations

import itertools
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from mpis import ROOT

# A machine that changes meanwhile, as busy ones do.
UNSTEADY = "nothing could be measured on the machine that was described"
QUICK = "--seconds 0.02 --samples 2"
# The command as pages show it, without folder and ending; what makes it short, and what its answer or its page has to name.
ALONE = {
    "agent_deaths": ("--agents 2 --hosts 1", "openmpi5: files left: none"),
    "by_hand --mpi openmpi5": (f"{QUICK} --output page.md", "bcast:chain"),
    "figures": (
        "--section first_look --look '--ranks 2 --rounds 1 --calls 20 --largest 8 --operation bcast' --output page.md",
        "| a first look: learning within 5 % of none |",
    ),
    "first_look": (
        "--ranks 2 --rounds 1 --calls 20 --largest 16384 --operation bcast --output page.md",
        "| 2 | openmpi5 | all |",
    ),
    "first_touch": (
        "--jobs 1 --operation bcast --size 8192 --calls 30 --output page.md",
        "| openmpi5 | 2 | bcast of 8 KiB | rules |",
    ),
    "learning --modes left,off,auto --runs 3": (
        "--runs 1 --divide 50 --modes left,off,auto,star,chosen --computing 2 --cells allreduce:8 --json of.json",
        "| 2000 allreduce of 8 B | auto |",
    ),
    "learning --ranks 8 --divide 10 --runs 2 --modes off,auto --cells allreduce,alltoall": (
        "--ranks 3 --runs 1 --divide 200 --cells allreduce:8",
        "| 500 allreduce of 8 B | auto |",
    ),
    "message_applications": (
        "--rounds 1 --ranks 2 --scale 0.02 --what fds,pickled --output page.md",
        "| fds | openmpi5 | 2 | messages |",
    ),
    "message_applications --messages default --what hello,blast,sparse,multigrid": (
        "--rounds 1 --ranks 4 --scale 0.02 --messages default --what hello,blast,sparse,multigrid --output page.md",
        "| multigrid | openmpi5 | 4 | command |",
    ),
    "messages": (
        "--rounds 1 --windows 2 --what latency:8,drain:64,random:8,fan_in:8 --output page.md",
        "| openmpi5 | half a round trip, 8 B |",
    ),
    "messages --mpi openmpi5 --ranks 4 --rounds 3 --windows 5 --what ring:8,random:8,random:4096,fan_in:8": (
        "--ranks 3 --rounds 1 --windows 2 --what ring:8,random:8 --output page.md",
        "| openmpi5 | a step of a ring, 8 B |",
    ),
    "messages --ranks 4 --ways node --what gather:5461 --rounds 3 --windows 5": (
        "--ranks 3 --rounds 1 --windows 2 --what gather:64 --output page.md",
        "| openmpi5 | a message of 64 from each rank, received in reverse |",
    ),
    "messages --ways all --what latency:8,drain:4096": (
        "--rounds 1 --windows 2 --what latency:8,drain:64 --output page.md",
        "| openmpi5 | half a round trip, 8 B |",
    ),
    "neighbors": (
        f"--layout 2 --graph moore:2,1 --size 8 {QUICK} --output page.md",
        "| moore:2,1 | neighbor_alltoall | 8 B |",
    ),
    "prediction_error": (
        "--operation barrier --seconds 0.02 --budget 1 --output page.md",
        "## With the measured machine",
    ),
    "pacing": (
        f"--layout 4 --operation scatter --size 8 {QUICK} --output page.md",
        "| scatter, flat | 8 B |",
    ),
    "regret --layout 2": (
        "--operation barrier --cell 0.1 --budget 1 --output page.md",
        "| 2 | Open MPI 5",
    ),
    "repository": (f"--layout pair --operation barrier {QUICK} --output page.md", "barrier"),
    "short_programs --mpi openmpi5 --runs 5": (
        "--ranks 2 --runs 1 --operations bcast --calls 200 --output page.md",
        "auto, of off, geometric mean of 2 programs",
    ),
    "reproducible --seconds 0.6 --samples 40": (QUICK, "as 2 nodes of 3 | scan"),
    "start --ranks 2 --rounds 12": ("--rounds 1", "openmpi5"),
}
CLUSTER = {
    "agents": (
        "--rounds 1 --calls 20 --sleep 200 --idle 1 --output page.md",
        "- openmpi5, threads: an idle agent takes",
    ),
    "agents --layout 4x1 --native-with OMPI_MCA_mpi_yield_when_idle=1": (
        "--rounds 1 --calls 20 --sleep 200 --idle 1 --output page.md",
        "| openmpi5 | 200 us | native, OMPI_MCA_mpi_yield_when_idle=1 |",
    ),
    "applications --mpi openmpi4 --runs 3 --scale 2 --tune 60s": (
        "--only nbody --nodes 2 --ppn 1 --runs 1 --scale 0.05 --tune 2s --output of",
        "| nbody | 2 | again |",
    ),
    "applications --sizes source --ppn 1 --runs 3 --tune 60s": (
        "--only molecules,nanotube --nodes 2,3 --ppn 1 --runs 1 --scale 0.02 --tune 2s --output of",
        "| nanotube | 3 | rules |",
    ),
    "blocking_agents": (
        "--rounds 1 --calls 400 --latency 10 --output page.md",
        "| openmpi5 | learning |",
    ),
    "drift --operation bcast --bytes 8192 --rates 1gbit,20mbit --calls 10000 --factor 8": (
        "--nodes 2 --ppn 1 --calls 1600 --rates 1gbit,100mbit --alone 0 --output of",
        "the rate changed at call",
    ),
    "layers": (
        f"--layout 2x2 --operation bcast --largest 512 {QUICK} --output page.md",
        "| bcast, two_level_fused_binomial | 512 B |",
    ),
    "neighbors": (
        f"--layout nodes --graph cart:2 --size 8 {QUICK} --output page.md",
        "| cart:2 | neighbor_allgather | 8 B | 4.0, 4 | 32 | 8 |",
    ),
    "overlap --layout 2x8 --layout 4x4 --seconds 2 --samples 40": (
        f"--layout 2x2 --rate 1gbit --largest 1048576 {QUICK} --output page.md",
        "| allgather, two_level_ring",
    ),
    "two_level_gain": ("--seconds 0.02 --rate 10gbit --largest 65536 --output page.md", "network: alpha"),
}
# More commands of pages that are there already with other options, or take half a minute.
IN_TURNS = {
    "learning --modes auto --runs 3": (
        "--runs 1 --divide 50 --cells allreduce:8",
        "| 2000 allreduce of 8 B | auto |",
    ),
    "learning --modes star,chosen --computing 5 --runs 3 --divide 4": (
        "--runs 1 --divide 50 --cells allreduce:8",
        "| 2000 allreduce of 8 B | chosen |",
    ),
    "repository --layout nodes": (f"--operation barrier {QUICK} --output page.md", "barrier"),
}


def told(command: str, options: str, folder: Path) -> str:
    name, *shown = command.split()
    short = ["--mpi", "openmpi5", *shlex.split(options)]
    pairs = [pair for pair in zip(shown[::2], shown[1::2], strict=True) if pair[0] not in short]
    words = [sys.executable, str(ROOT / f"benchmarks/{name}.py"), *itertools.chain(*pairs), *short]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if UNSTEADY in done.stderr:
        pytest.skip(UNSTEADY)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    page = folder / "page.md"
    return done.stdout + (page.read_text() if page.exists() else "")


@pytest.mark.dear
@pytest.mark.in_turns(5)
@pytest.mark.parametrize("command", ALONE)
def test_on_this_machine(command: str, tmp_path: Path):
    options, named = ALONE[command]
    assert named in told(command, options, tmp_path)


@pytest.mark.dear
@pytest.mark.in_turns(4)
@pytest.mark.cluster
@pytest.mark.parametrize("command", CLUSTER)
def test_between_nodes(command: str, tmp_path: Path):
    options, named = CLUSTER[command]
    assert named in told(command, options, tmp_path)


@pytest.mark.dear
@pytest.mark.cluster
@pytest.mark.in_turns(2)
@pytest.mark.parametrize("command", IN_TURNS)
def test_others_in_turns(command: str, tmp_path: Path):
    options, named = IN_TURNS[command]
    assert named in told(command, options, tmp_path)
