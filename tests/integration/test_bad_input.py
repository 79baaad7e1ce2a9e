# SPDX-License-Identifier: BSD-3-Clause
"""Machines that are not as one would like: each ends in right results or in a clear message, never in a hang."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import job
import mpis
import pytest
from harness import BUILD, SHIM, Cluster, Runner, compile_program, installed
from mpis import Layout, Mpi

SECTIONS = ["barrier", "counts", "in_place", "communicators"]

# The MPIs that can be kept from needing shared memory themselves, and how.
WITHOUT_SHARED_MEMORY = {"OMPI_MCA_btl": "tcp,self"}

# Takes every second rank out of the others' sight: it sees neither their processes nor their /dev/shm.
APART = """
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
[ $((rank % 2)) = 0 ] || exec unshare --mount --pid --fork --kill-child --mount-proc \\
  bash -c 'mount -t tmpfs tmpfs /dev/shm && exec "$@"' apart "$@"
exec "$@"
"""


@pytest.fixture(params=["openmpi4", "openmpi5"])
def tcp_mpi(request: pytest.FixtureRequest) -> Mpi:
    if os.geteuid() != 0:
        pytest.skip("needs root to make namespaces")
    return installed(mpis.BY_NAME[request.param], request.config)


def launcher_environment(mpi: Mpi) -> dict[str, str]:
    return mpis.launcher_environment(mpi) | WITHOUT_SHARED_MEMORY


def test_ranks_that_do_not_share_memory(tcp_mpi: Mpi, runner: Runner):
    """Four ranks on one host by name; two of them can map nothing of the others: nodes are proved, not named."""
    report = runner.scratch / "report.json"
    program = [SHIM, compile_program(tcp_mpi, "collectives"), *SECTIONS]
    given = WITHOUT_SHARED_MEMORY | {"UNISONO_REPORT": str(report)}
    environment = runner.environment_for_ranks(tcp_mpi, 4, given)
    line = tcp_mpi.launch(4, ["bash", "-c", APART, "apart", *program], environment)
    result = job.run(line, launcher_environment(tcp_mpi), timeout=90, directory=runner.scratch).check()
    assert result.output.startswith("OK "), str(result)
    nodes = [node["ranks"] for node in json.loads(report.read_text())["nodes"]]
    assert sum(nodes) == 4 and len(nodes) > 1, nodes


def test_full_dev_shm(tcp_mpi: Mpi, runner: Runner):
    """Unisono's memory is anonymous: a /dev/shm without room does not matter to it."""
    program = [SHIM, compile_program(tcp_mpi, "collectives"), *SECTIONS]
    environment = runner.environment_for_ranks(tcp_mpi, 3, WITHOUT_SHARED_MEMORY)
    line = tcp_mpi.launch(3, program, environment)
    fill = 'mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero >/dev/shm/full; exec "$@"'
    line = ["unshare", "--mount", "bash", "-c", fill, "full", *line]
    result = job.run(line, launcher_environment(tcp_mpi), timeout=90, directory=runner.scratch).check()
    assert result.output.startswith("OK "), str(result)


def test_full_dev_shm_where_it_is_needed(tcp_mpi: Mpi, runner: Runner):
    """Named segments have no room: messages serve instead, and one rank of the host says why."""
    program = [SHIM, compile_program(tcp_mpi, "collectives"), *SECTIONS]
    given = WITHOUT_SHARED_MEMORY | {"UNISONO_SEGMENT": "shm_open"}
    environment = runner.environment_for_ranks(tcp_mpi, 3, given)
    line = tcp_mpi.launch(3, program, environment)
    line = [
        "unshare",
        "--mount",
        "bash",
        "-c",
        'mount -t tmpfs -o size=4k tmpfs /dev/shm && exec "$@"',
        "full",
        *line,
    ]
    result = job.run(line, launcher_environment(tcp_mpi), timeout=90, directory=runner.scratch).check()
    assert result.output.startswith("OK "), str(result)
    assert result.errors.count("unisono: this rank shares no memory") == 1, str(result)
    assert "/dev/shm is full" in result.errors


def test_no_memory_left_in_the_pool(mpi: Mpi, runner: Runner):
    """Communicators that get no slice go on by messages."""
    command = [compile_program(mpi, "collectives"), "communicators", "many_communicators", "random"]
    environment = {"UNISONO_POOL_BYTES": "1M", "COLLECTIVES_NATIVE": "1"}
    result = runner.unisono(mpi, 4, command, environment, timeout=90).check()
    assert result.errors.count("the node's pool of shared memory is full") == 1, str(result)
    assert result.output.startswith("OK "), str(result)


def test_directories_in_place_of_files(mpi: Mpi, runner: Runner):
    """No option that names a file stops the program."""
    directory = str(runner.scratch)
    cache = runner.scratch / "cache"
    (cache / "crashes.jsonl").mkdir(parents=True)
    names = ("TOPOLOGY", "MACHINE", "CONFIG", "TABLE", "SITE_TABLE")
    environment = {f"UNISONO_{name}": directory for name in names} | {"UNISONO_CACHE": str(cache)}
    result = runner.unisono(mpi, 2, [compile_program(mpi, "collectives"), "barrier"], environment).check()
    assert result.output.startswith("OK "), str(result)
    for warning in (
        f"option topology '{directory}' is not used",
        f"option machine '{directory}' is not used",
        f"the configuration file {directory} (UNISONO_CONFIG) cannot be read",
        f"table {directory} is a directory, not a table",
    ):
        assert warning in result.errors, str(result)


@pytest.mark.cluster
def test_a_node_without_the_library(cluster_mpi: Mpi, runner: Runner, broken_cluster: Cluster):
    """The shim ends the job with a message that says where the library is missing."""
    layout = Layout((1, 1))
    command = [compile_program(cluster_mpi, "collectives"), "barrier"]
    result = runner.unisono(cluster_mpi, 2, command, timeout=60, cluster=broken_cluster, layout=layout)
    assert not result.is_timed_out and result.status != 0, str(result)
    said = result.output + result.errors
    assert "libunisono" in said and "node1" in said, str(result)


@pytest.fixture(scope="session")
def broken_cluster(make_cluster: Callable[..., Cluster]) -> Cluster:
    """Two nodes, of which the second does not have Unisono's libraries."""
    cluster = make_cluster(2)
    cluster.on_node(1, "mount", "-t", "tmpfs", "tmpfs", str(BUILD / "lib"))
    return cluster
