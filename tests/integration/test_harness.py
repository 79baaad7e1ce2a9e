# SPDX-License-Identifier: BSD-3-Clause
"""The harness itself: jobs end, nothing outlives them, clusters are what they claim to be."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import again
import job
import mpis
import pytest
from harness import CLUSTER_TOOLS, Cluster, Runner


@pytest.mark.dear
def test_timeout_ends_the_whole_job():
    result = job.run(["bash", "-c", "setsid sleep 1000 & sleep 1000"], timeout=0.5)
    assert result.is_timed_out
    assert result.survivors == ["sleep 1000"], "the process that left the group is found by its mark"


def test_output_and_status_are_kept():
    result = job.run(["bash", "-c", "echo out; echo err >&2; exit 3"])
    assert (result.status, result.output, result.errors) == (3, "out\n", "err\n")
    with pytest.raises(AssertionError, match="status 3"):
        result.check()


@pytest.mark.dear
def test_a_job_that_stands_still_is_ended(tmp_path: Path):
    script = "for i in 1 2 3 4; do echo x >>file; sleep 1; done; sleep 1000"
    result = job.run(["bash", "-c", script], directory=tmp_path, watch=job.Watch(tmp_path, 2.5))
    assert result.is_timed_out and 4 < result.seconds < 50
    assert (tmp_path / "file").read_text() == "x\n" * 4, "as long as it writes it goes on"


@pytest.mark.dear
@pytest.mark.parametrize(
    ("script", "runs"),
    [
        ("echo x >>runs; sleep 2.1; echo exiting improperly >&2; exit 1", 2),
        ("echo x >>runs; echo exiting improperly >&2; exit 1", 1),
        ("echo x >>runs; sleep 2.1; exit 1", 1),
        ("echo x >>runs", 1),
    ],
)
def test_only_a_lost_finalize_is_run_again(runner: Runner, script: str, runs: int):
    runner.again = again.RunAgain()
    runner.run_line(mpis.BY_NAME["openmpi4"], ["bash", "-c", script])
    assert (runner.scratch / "runs").read_text() == "x\n" * runs


def test_a_launcher_without_a_listener_is_started_again(runner: Runner):
    runner.again = again.RunAgain()
    script = "echo x >>runs; echo 'listener thread failed to start' >&2; exit 1"
    left = []
    runner.before_again = lambda: left.append((runner.scratch / "runs").read_text())
    runner.run_line(mpis.BY_NAME["openmpi5"], ["bash", "-c", script])
    assert (runner.scratch / "runs").read_text() == "x\n" * 2
    assert left == ["x\n"], "a test can undo what the first run has left"


def test_jobs_that_are_run_again_are_counted_and_limited(tmp_path: Path):
    fault = job.run(["bash", "-c", "echo listener thread failed to start >&2; exit 1"], directory=tmp_path)
    right = job.run(["true"], directory=tmp_path)
    counted = again.RunAgain(most=2)
    seen = [
        counted.is_due(mpis.BY_NAME[name], result)
        for name, result in [
            ("openmpi5", right),
            ("mpich5", fault),
            ("openmpi5", fault),
            ("openmpi5", fault),
            ("openmpi5", fault),
        ]
    ]
    assert seen == [False, False, True, True, False]
    assert again.text(counted.counts) == (
        "2 jobs were run once more (Open MPI 5's launcher could not start its listener: 2)"
    )
    assert again.text({}) == "no job was run once more"


def test_nodes_are_separate(cluster: Cluster):
    names = [cluster.on_node(node, "hostname").strip() for node in range(cluster.nodes)]
    assert names == ["node0", "node1", "node2", "node3"]
    cluster.on_node(0, "touch", "/dev/shm/mine")
    assert "mine" not in cluster.on_node(1, "ls", "/dev/shm")
    assert not Path("/dev/shm/mine").exists()
    processes = cluster.on_node(1, "bash", "-c", "ls -d /proc/[0-9]*").split()
    assert "/proc/1" in processes and len(processes) < 20


def test_nodes_reach_each_other(cluster: Cluster):
    listener = (
        "import socket; s=socket.create_server(('node1', 7000)); c,_=s.accept(); print(c.recv(5).decode())"
    )
    # The listener may take its time to be there.
    talker = "until exec 3<>/dev/tcp/node1/7000; do sleep 0.1; done 2>/dev/null; printf hello >&3"
    script = f'{{ "$0" exec {cluster.directory} 1 python3 -c "$1" & }}; "$0" exec {cluster.directory} 3 bash -c "$2"; wait'
    result = job.run(["bash", "-c", script, CLUSTER_TOOLS / "cluster.sh", listener, talker], timeout=60)
    assert result.check().output == "hello\n"


def test_clusters_stand_side_by_side(make_cluster, cluster: Cluster):
    other = make_cluster(2, rate="1gbit", latency_us=100)
    assert other.on_node(1, "hostname") == "node1\n"
    assert cluster.on_node(1, "hostname") == "node1\n"
    other.on_node(1, "touch", "/dev/shm/other")
    assert "other" not in cluster.on_node(1, "ls", "/dev/shm")
    directory = other.directory
    other.down()
    assert not directory.exists()
    assert cluster.on_node(0, "hostname") == "node0\n"


def test_a_node_can_fail(make_cluster):
    small = make_cluster(2)
    small.kill(1)
    assert small.on_node(0, "hostname") == "node0\n"
    with pytest.raises(AssertionError, match="status"):
        small.on_node(1, "hostname")


def test_a_cluster_ends_with_its_owner(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("an emulated cluster needs root")
    directory = tmp_path / "state"
    owner = subprocess.Popen(["sleep", "1000"])
    up = [CLUSTER_TOOLS / "cluster.sh", "up", directory, "--nodes", "2", "--owner", str(owner.pid)]
    subprocess.run(up, stdin=subprocess.DEVNULL, check=True, timeout=60)
    starter = Path("/proc") / (directory / "starter").read_text().split()[0]
    assert starter.exists()
    owner.kill()
    owner.wait()
    deadline = time.monotonic() + 20
    while (directory.exists() or starter.exists()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not directory.exists() and not starter.exists()


def test_no_root_is_said_clearly():
    if os.geteuid() != 0:
        pytest.skip("needs root to give it up")
    with tempfile.TemporaryDirectory() as directory:
        script = Path(shutil.copy(CLUSTER_TOOLS / "cluster.sh", directory))
        for path in (script, Path(directory)):
            path.chmod(0o755)
        state = f"{directory}/state"
        command = ["setpriv", "--reuid=65534", "--clear-groups", script, "up", state, "--nodes", "2"]
        result = job.run(command, directory=Path(directory))
    assert result.status == 1 and "needs root" in result.errors, str(result)
