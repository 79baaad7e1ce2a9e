# SPDX-License-Identifier: BSD-3-Clause
"""`unisono tune` over real MPIs: it measures through the MPI's own launcher, and programs go by the table that it writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import job
import mpis
import pytest
from harness import Cluster, Runner, compile_program
from mpis import Layout, Mpi
from unisono.machine.host import usable_cores

pytestmark = pytest.mark.each_library

OPERATIONS = "barrier,bcast,allreduce,alltoallv"
BUDGET = 8  # seconds
BUDGET_OF_THREE = 16  # communicators
BUDGET_OF_ALL = 20  # cells, which are all to be decided


def tune(
    mpi: Mpi,
    runner: Runner,
    launcher: list[str],
    cluster: Cluster | None = None,
    *more: str,
    operations: str = OPERATIONS,
    budget: int = BUDGET,
) -> Path:
    """The table. Where a machine was too busy to decide anything in its budget it gets twice as much, and again."""
    for seconds in (budget, 2 * budget, 4 * budget):
        table = tune_once(mpi, runner, launcher, cluster, operations, seconds, *more)
        if json.loads(table.read_text())["rules"]:
            break
    return table


def tune_once(
    mpi: Mpi,
    runner: Runner,
    launcher: list[str],
    cluster: Cluster | None,
    operations: str,
    seconds: int,
    *more: str,
) -> Path:
    table = Path(runner.scratch) / "table.json"
    table.unlink(missing_ok=True)
    environment = {**mpis.launcher_environment(mpi), "XDG_CACHE_HOME": str(runner.scratch / "cache")}
    words = [sys.executable, "-m", "unisono", "tune", "--budget", f"{seconds}s", "--operation", operations]
    words += ["--size", "8,16K", "-o", str(table), "--mpicc", str(mpi.compilers["c"])]
    words += [*more, "--", *launcher]
    words = cluster.on_head(words) if cluster else words
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    (runner.scratch / "said").write_text(done.stdout + done.stderr)
    return table


@pytest.mark.dear
@pytest.mark.in_turns(4)
def test_a_program_goes_by_the_table(mpi: Mpi, runner: Runner):
    table = tune(mpi, runner, mpi.launch(3, [], runner.environment_for_ranks(mpi, 3, None)))
    written = json.loads(table.read_text())
    assert 0 < len(written["rules"]) <= 1 + 2 + 2 + 1, "what is not decided is no rule"
    assert all(rule["nodes"] == [1, 1] and rule["ranks_per_node"] == [3, 3] for rule in written["rules"])
    assert any("native" in {o["algorithm"] for o in r.get("others", [])} for r in written["rules"])
    report = Path(runner.scratch) / "report.json"
    environment = {
        "UNISONO_TABLE": str(table),
        "UNISONO_SITE_TABLE": "",
        "UNISONO_CACHE": "",
        "UNISONO_REPORT": str(report),
        "COLLECTIVES_NATIVE": "1",
    }
    command = [compile_program(mpi, "collectives"), "barrier", "counts", "roots"]
    result = runner.unisono(mpi, 3, command, environment, timeout=120).check()
    assert result.output.startswith("OK "), str(result)
    assert "disabled" not in result.errors, str(result)
    served = [e for e in json.loads(report.read_text())["classes"] if e["operation"] in OPERATIONS.split(",")]
    assert any(e["source"] == "application table" for e in served), served


@pytest.mark.dear
@pytest.mark.in_turns(6)
@pytest.mark.cluster
@pytest.mark.parametrize("layout", [Layout((2, 2)), Layout((1, 3))], ids=["2x2", "1,3"])
def test_between_nodes(cluster_mpi: Mpi, runner: Runner, cluster: Cluster, layout: Layout):
    """By predictions for just these nodes."""
    settings = runner.environment_for_ranks(cluster_mpi, 4, None)
    table = tune(
        cluster_mpi,
        runner,
        cluster_mpi.launch(4, [], settings, layout),
        cluster,
        "--machine",
        "ethernet",
        budget=BUDGET_OF_ALL,
    )
    rules = json.loads(table.read_text())["rules"]
    counts = [min(layout.ranks_per_node), max(layout.ranks_per_node)]
    assert rules and all(rule["nodes"] == [2, 2] and rule["ranks_per_node"] == counts for rule in rules)


@pytest.mark.dear
@pytest.mark.in_turns(5)
@pytest.mark.cluster
def test_collectives_of_neighbours(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    """Bundles of several lengths among others; a program's graph goes by the table that a grid's calls have made."""
    layout = Layout((2, 2))
    operation = "neighbor_allgather"
    settings = runner.environment_for_ranks(cluster_mpi, 4, None)
    launcher = cluster_mpi.launch(4, [], settings, layout)
    table = tune(cluster_mpi, runner, launcher, cluster, operations=operation, budget=BUDGET_OF_THREE)
    rules = json.loads(table.read_text())["rules"]
    assert rules and {rule["operation"] for rule in rules} == {operation}
    report = Path(runner.scratch) / "report.json"
    environment = {
        "UNISONO_TABLE": str(table),
        "UNISONO_SET_UP_AFTER": "0",
        "UNISONO_REPORT": str(report),
    }
    command = [compile_program(cluster_mpi, "neighbor_lengths.c")]
    result = runner.unisono(cluster_mpi, 4, command, environment, timeout=120, cluster=cluster, layout=layout)
    assert result.check().output == "OK\n", str(result)
    served = [e for e in json.loads(report.read_text())["classes"] if e["operation"] == operation]
    assert any(e["source"] == "application table" for e in served), served


@pytest.mark.dear
@pytest.mark.in_turns(5, 3)
@pytest.mark.cluster
def test_communicators_of_nodes(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    """Of each node's ranks, and of one rank of each node, where the others sleep."""
    layout = Layout((2, 2))
    launcher = cluster_mpi.launch(4, [], runner.environment_for_ranks(cluster_mpi, 4, None), layout)
    table = tune(
        cluster_mpi, runner, launcher, cluster, "--comm", "world,node,leaders", budget=BUDGET_OF_THREE
    )
    rules = json.loads(table.read_text())["rules"]
    layouts = [(rule["nodes"], rule["ranks_per_node"]) for rule in rules]
    said = (runner.scratch / "said").read_text()
    expected = {
        ", 2x2\n": ([2, 2], [2, 2]),
        ", 1x2, the ranks of each node\n": ([1, 1], [2, 2]),
        ", 2x1, one rank of each node\n": ([2, 2], [1, 1]),
    }
    for title, of_it in expected.items():
        # What is not decided has no rule, which on a busy machine may be all of a communicator.
        assert title in said and layouts.count(of_it) <= 1 + 2 + 2 + 1, f"{layouts}\n{said}"
    assert layouts and all(one in expected.values() for one in layouts), f"{layouts}\n{said}"


@pytest.mark.dear
@pytest.mark.in_turns(10)
def test_a_proof(mpi: Mpi, runner: Runner):
    launcher = mpi.launch(2, [], runner.environment_for_ranks(mpi, 2, None))
    tune_once(mpi, runner, launcher, None, OPERATIONS, BUDGET_OF_ALL, "--prove")
    said = " ".join((runner.scratch / "said").read_text().split())
    found = re.search(
        r"Proof: tuning took .* s of .* s, which is .* against the search's \(geometric mean of (\d+) cells",
        said,
    )
    assert found and int(found[1]) == 1 + 2 + 2, said
    assert not list(runner.scratch.glob(".*progress"))


@pytest.mark.in_turns(3, 1)
def test_a_killed_command_leaves_no_job(mpi: Mpi, runner: Runner):
    """The ranks wait for the next question, which nobody can ask any more."""
    mark = uuid.uuid4().hex
    environment = {**mpis.launcher_environment(mpi), "XDG_CACHE_HOME": str(runner.scratch / "cache")}
    words = [
        sys.executable,
        "-m",
        "unisono",
        "tune",
        "--budget",
        "100s",
        "-o",
        str(runner.scratch / "t.json"),
    ]
    words += ["--mpicc", str(mpi.compilers["c"]), "--"]
    words += mpi.launch(2, [], runner.environment_for_ranks(mpi, 2, None))
    process = subprocess.Popen(
        words,
        env={**environment, job.MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def serving() -> int:
        return sum("--serve" in command for command in job.marked_processes(mark).values())

    try:
        job.wait_until(lambda: serving() >= 2, 60)
        process.kill()
        process.wait()
        job.wait_until(lambda: not job.marked_processes(mark), 60)
    finally:
        process.kill()
        process.wait()
        job.sweep(mark)


def described(
    runner: Runner, mpi: Mpi, launcher: list[str], cluster: Cluster | None = None
) -> dict[str, Any]:
    file = Path(runner.scratch) / "machine.json"
    environment = {**mpis.launcher_environment(mpi), "XDG_CACHE_HOME": str(runner.scratch / "cache")}
    words = [sys.executable, "-m", "unisono", "machine", "measure", "--budget", "1s"]
    words += ["-o", str(file), "--mpicc", str(mpi.compilers["c"]), "--", *launcher]
    words = cluster.on_head(words) if cluster else words
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "Hockney: alpha" in done.stdout
    machine: dict[str, Any] = json.loads(file.read_text())
    return machine


@pytest.mark.dear
@pytest.mark.in_turns(5)
@pytest.mark.alone  # what is compared here are measured times
def test_a_machine_is_described(mpi: Mpi, runner: Runner):
    """Times are the machine's business; that longer messages take longer is not."""
    machine = described(runner, mpi, mpi.launch(2, [], runner.environment_for_ranks(mpi, 2, None)))
    assert (
        "node" not in machine["measured"]["not_measured"] and "network" in machine["measured"]["not_measured"]
    )
    for curve in (machine["node"]["plogp"]["whole_us"], machine["shared_memory"]["copy_us"]):
        assert curve["us"][0] < curve["us"][-1]
    assert len(machine["findings"]["operations"]) == 7 and machine["call_us"]["value"] >= 0


@pytest.mark.dear
@pytest.mark.in_turns(5, 1)
@pytest.mark.alone
def test_how_ranks_that_share_cores_change_is_measured(mpi: Mpi, runner: Runner):
    """One of the values that are tried: from a switch to four of them."""
    cores = usable_cores()
    ranks = 2 * cores
    settings = runner.environment_for_ranks(mpi, ranks, {"UNISONO_DOMAINS": f"{cores}+{cores}"})
    machine = described(runner, mpi, mpi.launch(ranks, [], settings))
    # Half of the ranks are said to lie in another NUMA domain.
    assert [far["across"] for far in machine["shared_memory"].get("distances", ())] == ["numa"]
    assert not {"switch_us", "message_switch_us"} & set(machine["measured"]["not_measured"])
    switch, of_messages = machine["switch_us"]["value"], machine["message_switch_us"]
    assert 0.99 * switch <= of_messages["low"] <= of_messages["value"] <= of_messages["high"] <= 4.01 * switch


@pytest.mark.dear
@pytest.mark.in_turns(4)
@pytest.mark.alone  # what is compared here are measured times
@pytest.mark.cluster
def test_messages_between_nodes_are_measured(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    settings = runner.environment_for_ranks(cluster_mpi, 4, None)
    machine = described(runner, cluster_mpi, cluster_mpi.launch(4, [], settings, Layout((2, 2))), cluster)
    # Four ranks that share this machine's cores, as the nodes do.
    assert machine["nodes_on_cores"] == 2 and machine["cores_per_node"] == usable_cores()
    measured_with = ["message_switch_us"] if usable_cores() >= 4 else []
    assert machine["measured"]["not_measured"] == measured_with
    whole = [machine[level]["plogp"]["whole_us"]["us"][0] for level in ("node", "network")]
    assert whole[0] < whole[1]


def benchmark(mpi: Mpi, runner: Runner, *options: str) -> list[dict[str, Any]]:
    environment = {**mpis.launcher_environment(mpi), "XDG_CACHE_HOME": str(runner.scratch / "cache")}
    launcher = mpi.launch(2, [], runner.environment_for_ranks(mpi, 2, None))
    words = [sys.executable, "-m", "unisono", "bench", "--operation", "bcast,allreduce", "--size", "8,32K"]
    words += [*options, "--json", "--mpicc", str(mpi.compilers["c"]), "--", *launcher]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    cells: list[dict[str, Any]] = json.loads(done.stdout)
    assert len(cells) == 4 and all(cell["is_same"] for cell in cells)
    return cells


@pytest.mark.dear
@pytest.mark.in_turns(3, 1)
def test_bench_begins_as_it_is_told(mpi: Mpi, runner: Runner):
    """Random arrivals in a window, cold caches, another communicator; results are compared."""
    options = ["--skew", "30", "--cold", "--start", "window", "--comm", "reversed", "--seconds", "0.05"]
    assert all(cell["batch"] == 1 for cell in benchmark(mpi, runner, *options))


@pytest.mark.dear
@pytest.mark.in_turns(3, 2)
def test_bench_measures_calls_that_do_not_block(mpi: Mpi, runner: Runner):
    """Fused operations are for blocking calls alone, and so never named of these."""
    blocking = benchmark(mpi, runner, "--seconds", "0.05")
    started = benchmark(mpi, runner, "--form", "non-blocking", "--seconds", "0.05")
    of_blocking, of_started = ([cell["algorithm"] for cell in cells] for cells in (blocking, started))
    assert all(of_started) and of_started[0] != of_blocking[0] == "fused", (of_blocking, of_started)


@pytest.mark.dear
@pytest.mark.alone
def test_bench_takes_as_many_samples_as_precision_needs(runner: Runner):
    """No median is that uncertain: what is looked at first is enough. Without precision the number decides."""
    mpi = mpis.BY_NAME["mpich5"]
    plain = ["--seconds", "20", "--samples", "13", "--precision"]
    assert {cell["samples"] for cell in benchmark(mpi, runner, *plain, "1e12")} == {10}
    assert {cell["samples"] for cell in benchmark(mpi, runner, *plain, "0")} == {13}
