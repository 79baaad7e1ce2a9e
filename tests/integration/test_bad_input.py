# SPDX-License-Identifier: BSD-3-Clause
"""Machines that are not as one would like: each ends in right results or in a clear message, never in a hang."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import job
import mpis
import pytest
from harness import BUILD, HEADER, SHIM, Cluster, Runner, compile_program, installed
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


@pytest.mark.in_turns(3, 2)
def test_no_memory_left_in_the_pool(mpi: Mpi, runner: Runner):
    """Communicators that get no slice go on by messages."""
    command = [compile_program(mpi, "collectives"), "communicators", "many_communicators", "random"]
    environment = {"UNISONO_POOL_BYTES": "1M", "COLLECTIVES_NATIVE": "1"}
    result = runner.unisono(mpi, 4, command, environment, timeout=90).check()
    assert result.errors.count("the node's pool of shared memory is full") == 1, str(result)
    assert result.output.startswith("OK "), str(result)


@pytest.mark.in_turns(3, 2)
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


# What no file is, or no file that is taken, in the place of each file that options name.
UNFIT = {
    "pipe": "is no regular file",
    "zero": "is no regular file",
    "deep": "is nested deeper than 64 levels",
}


@pytest.mark.in_turns(3)
def test_pipes_devices_and_nested_files(mpi: Mpi, runner: Runner):
    """Nothing waits for a pipe, reads a device, or goes down as deep as a file says; not in the cache either."""
    scratch = runner.scratch
    os.mkfifo(scratch / "pipe")
    (scratch / "zero").symlink_to("/dev/zero")
    (scratch / "deep").write_text('{"a":' * 65_700)
    cache = scratch / "cache"
    (cache / "machines").mkdir(parents=True)
    os.mkfifo(cache / "crashes.jsonl")
    names = {"TABLE": "pipe", "SITE_TABLE": "deep", "MACHINE": "zero", "TOPOLOGY": "pipe", "CONFIG": "zero"}
    environment = {f"UNISONO_{name}": str(scratch / file) for name, file in names.items()}
    given = environment | {"UNISONO_CACHE": str(cache), "UNISONO_LEARN": "auto"}
    result = runner.unisono(
        mpi, 2, [compile_program(mpi, "collectives"), "barrier"], given, timeout=60
    ).check()
    assert result.output.startswith("OK "), str(result)
    for file, why in UNFIT.items():
        assert any(f"{scratch / file}" in line and why in line for line in result.errors.splitlines()), str(
            result
        )
    assert "crashes.jsonl is no regular file" in result.errors, str(result)


@pytest.mark.in_turns(3, 1)
def test_a_limit_on_file_sizes(mpi: Mpi, runner: Runner):
    """As natively the job ends well: what cannot be written is said, and no signal comes."""
    report, cache = runner.scratch / "report.json", runner.scratch / "cache"
    # The program makes few calls: they need not earn what learning takes.
    learn = {"UNISONO_LEARN": "star", "UNISONO_LEARN_BUDGET": "100", "UNISONO_LEARN_ITERATIONS": "1"}
    given = {"UNISONO_REPORT": str(report), "UNISONO_CACHE": str(cache), **learn}
    result = runner.unisono(
        mpi, 2, [compile_program(mpi, "file_limit.c", flags=[HEADER])], given, timeout=60
    ).check()
    assert "RIGHT" in result.output, str(result)
    assert f"the report {report} cannot be written: File too large" in result.errors, str(result)
    assert "what was learned is not kept" in result.errors, str(result)
    assert not report.exists() and not [
        file for file in cache.rglob("*") if file.is_file() and file.stat().st_size
    ]


@pytest.mark.in_turns(3, 1)
@pytest.mark.each_library
def test_places_that_nobody_may_write(mpi: Mpi, runner: Runner):
    """As natively the job ends well: what cannot be written is said, once, with the system's own reason."""
    with pytest.raises(PermissionError) as refusal:
        os.mkdir("/sys/unisono")
    learn = {"UNISONO_LEARN": "star", "UNISONO_LEARN_BUDGET": "100", "UNISONO_LEARN_ITERATIONS": "1"}
    given = {"UNISONO_REPORT": "/proc/unisono.json", "UNISONO_CACHE": "/sys/unisono/cache", **learn}
    result = runner.unisono(
        mpi, 2, [compile_program(mpi, "file_limit.c", flags=[HEADER])], given, timeout=60
    ).check()
    assert "RIGHT" in result.output, str(result)
    for message in (
        "the report /proc/unisono.json cannot be written: No such file or directory",
        f"what was learned is not kept: /sys/unisono/cache cannot be written: {refusal.value.strerror}",
    ):
        assert result.errors.count(message) == 1, str(result)


@pytest.mark.in_turns(3)
@pytest.mark.each_library
def test_names_of_regions(mpi: Mpi, runner: Runner):
    """Of any length, number and content they are bounded, told apart, and shown as text."""
    report, cache = runner.scratch / "report.json", runner.scratch / "cache"
    given = {"UNISONO_REPORT": str(report), "UNISONO_CACHE": str(cache), "UNISONO_LEARN": "auto"}
    result = runner.unisono(
        mpi, 2, [compile_program(mpi, "region_names.c", flags=[HEADER])], given, timeout=90
    ).check()
    assert "RIGHT" in result.output, str(result)
    assert "\x1b" not in result.errors and "\x07" not in result.errors, str(result)
    assert "a region has a name of more than 200 bytes" in result.errors, str(result)
    assert "the program has more than 1000 regions" in result.errors, str(result)
    learned = {entry["region"] for entry in json.loads(report.read_text())["learning"]}
    assert all(len(region.encode()) <= 200 for region in learned)
    assert len([region for region in learned if region.startswith("xxx")]) <= 2, learned
    assert sum(file.stat().st_size for file in cache.rglob("*.json")) < 2 << 20
    assert {file.stat().st_mode & 0o777 for file in cache.rglob("*") if file.is_file()} <= {0o600}


@pytest.mark.in_turns(3, 1)
@pytest.mark.each_library
def test_a_cache_of_another_user(mpi: Mpi, runner: Runner):
    """It is neither read nor written, and neither is what its links lead to."""
    cache = runner.scratch / "cache"
    cache.mkdir()
    if os.geteuid() == 0:
        os.chown(cache, 4711, 4711)
    else:
        cache.chmod(0o777)
    victim = runner.scratch / "victim"
    victim.write_text("theirs")
    (cache / "tables").symlink_to(runner.scratch)
    (cache / "crashes.jsonl").symlink_to(victim)
    given = {"UNISONO_CACHE": str(cache), "UNISONO_LEARN": "auto"}
    result = runner.unisono(
        mpi, 2, [compile_program(mpi, "learning.c", flags=[HEADER])], given, timeout=90
    ).check()
    assert "RIGHT" in result.output, str(result)
    assert f"the cache directory {cache} is not used: it " in result.errors, str(result)
    assert victim.read_text() == "theirs"
    assert sorted(file.name for file in cache.iterdir()) == ["crashes.jsonl", "tables"]


@pytest.mark.in_turns(3)
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
