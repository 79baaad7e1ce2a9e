# SPDX-License-Identifier: BSD-3-Clause
"""`unisono run` before the launchers of real MPIs."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import harness
import job
import mpis
import pytest
from harness import Runner
from mpis import Layout, Mpi

pytestmark = [
    pytest.mark.each_library,
    pytest.mark.skipif(not harness.TOOL.is_file(), reason=f"{harness.TOOL} is not built"),
]

# As users have it: compiled, with its part in Python beside it.
COMMAND = [str(Path(sys.executable).with_name("unisono")), "run"]
SHOW = 'echo "$0 $UNISONO_LOG $LD_PRELOAD"'
BOTH_WAYS = pytest.mark.parametrize("options", [[], ["--report", "-"]], ids=["replaced", "supervised"])


def environment(mpi: Mpi) -> dict[str, str]:
    return {**mpis.launcher_environment(mpi), "UNISONO_HOME": str(harness.BUILD)}


def shown(name: str) -> str:
    """What SHOW prints in a program that was started well."""
    return f"{name} quiet {harness.LIBRARY}"


def test_every_rank_gets_library_and_settings(mpi: Mpi, tmp_path: Path) -> None:
    line = mpi.launch(3, ["sh", "-c", SHOW, "one"])
    result = job.run([*COMMAND, "--log", "quiet", *line], environment(mpi), directory=tmp_path).check()
    assert result.output.splitlines() == [shown("one")] * 3
    assert result.survivors == []


def test_every_section(mpi: Mpi, tmp_path: Path) -> None:
    line = mpi.launch_sections([(1, ["sh", "-c", SHOW, "one"]), (2, ["sh", "-c", SHOW, "two"])])
    result = job.run([*COMMAND, "--log", "quiet", "--", *line], environment(mpi), directory=tmp_path).check()
    assert sorted(result.output.splitlines()) == [shown("one"), shown("two"), shown("two")]


def test_several_nodes(cluster_mpi: Mpi, cluster: harness.Cluster, runner: Runner) -> None:
    layout = Layout((1, 2))
    line = cluster_mpi.launch(3, ["sh", "-c", f'{SHOW} "$(hostname)"', "one"], {}, layout)
    wrapped = cluster.on_head([*COMMAND, "--log", "quiet", "--", *line])
    result = job.run(wrapped, environment(cluster_mpi), directory=runner.scratch).check()
    assert sorted(result.output.splitlines()) == [
        f"{shown('one')} node0",
        f"{shown('one')} node1",
        f"{shown('one')} node1",
    ]


@pytest.mark.in_turns(2, 1)
@pytest.mark.parametrize("wanted", ["-", "page.html"])
def test_report_of_a_rank_0_on_another_host(
    cluster_mpi: Mpi, cluster: harness.Cluster, runner: Runner, wanted: str
) -> None:
    """Only the head has its temporary folder, or the one that the page is to be in; all see the working directory."""
    program = harness.compile_program(cluster_mpi, "report.c")
    line = cluster_mpi.launch(2, [program, "late"], {}, Layout((1, 1)))
    options = ["--report", wanted if wanted == "-" else f"/dev/shm/{wanted}"]
    wrapped = cluster.on_head([*COMMAND, *options, "--", *line])
    result = job.run(wrapped, environment(cluster_mpi), directory=runner.scratch).check()
    assert "node0: the report " in result.errors, str(result)
    assert "no report was written" not in result.errors, str(result)
    assert "allreduce" in (
        result.errors if wanted == "-" else job.run(cluster.on_head(["cat", options[1]])).check().output
    )
    assert list(runner.scratch.glob("*.json")) == [], "what lay in between is gone"


@pytest.mark.skipif(not Path("/usr/bin/mpiexec.mpich").exists(), reason="Debian's MPICH is not installed")
def test_programs_of_which_one_has_an_mpi_linked_in(tmp_path: Path) -> None:
    """Natively they run as one job, and so they do here, without Unisono. The shim alone says the same of one program."""
    mpi = mpis.BY_NAME["mpich4"]
    archive = mpi.library_directory / "libmpich.a"
    if not archive.exists():
        pytest.skip(f"{archive} is not installed")
    shared = harness.compile_program(mpi, "report.c")
    archived = dataclasses.replace(mpi, link_flags=(str(archive), "-lhwloc", "-lucp", "-lucs", "-lm"))
    linked = tmp_path / "a\x1b[2Jb"  # a name that would clear the terminal
    linked.symlink_to(harness.compile_program(archived, "report.c", variant="archive"))
    for sections in (
        [(1, [linked, "late"]), (1, [shared, "late"])],
        [(1, [shared, "late"]), (1, [linked, "late"])],
    ):
        result = job.run(
            [*COMMAND, "--", *mpi.launch_sections(sections)], environment(mpi), directory=tmp_path
        ).check()
        assert result.errors.count("unisono: ") == 1, str(result)
        assert "a\\x1b[2Jb has an MPI linked in" in result.errors and "\x1b" not in result.errors
        assert "the whole job runs without Unisono" in result.errors


def test_programs_of_another_mpi_are_recognised(mpi: Mpi, tmp_path: Path) -> None:
    """They would run as jobs of one rank each. A program of the launcher's own MPI is let through."""
    line = mpi.launch(2, [harness.compile_program(mpi, "report.c")])
    job.run([*COMMAND, "--dry-run", *line], environment(mpi), directory=tmp_path).check()
    other = mpis.BY_NAME["mpich5" if mpi.name.startswith("openmpi") else "openmpi5"]
    foreign = harness.compile_program(other, "report.c")
    result = job.run([*COMMAND, "--dry-run", *mpi.launch(2, [foreign])], environment(mpi), directory=tmp_path)
    assert result.status == 2, str(result)
    assert "each would run as a job of its own" in result.errors, str(result)
    assert f"unisono run --dry-run {other.launcher.parent}" in result.errors, "its own launcher"
    marked = mpi.launch(2, [harness.SHIM, foreign])
    job.run([*COMMAND, "--dry-run", *marked], environment(mpi), directory=tmp_path).check()


def test_measuring_wants_no_program(tmp_path: Path) -> None:
    """`tune` and `bench` start a program of their own: one behind the launcher would be started in its place."""
    mpi = mpis.BY_NAME["openmpi5"]
    line = mpi.launch(2, [harness.compile_program(mpi, "report.c")])
    result = job.run([*COMMAND[:-1], "bench", "--", *line], environment(mpi), directory=tmp_path)
    assert result.status == 2, str(result)
    assert "leave it out: " in result.errors, str(result)


@pytest.mark.in_turns(2)
@BOTH_WAYS
def test_exit_status_is_the_launchers(mpi: Mpi, tmp_path: Path, options: list[str]) -> None:
    line = mpi.launch(2, ["sh", "-c", "exit 3"])
    native = job.run(line, environment(mpi), directory=tmp_path)
    under = job.run([*COMMAND, *options, *line], environment(mpi), directory=tmp_path)
    assert native.status == under.status != 0


@pytest.mark.in_turns(3, 2)
@BOTH_WAYS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_job(mpi: Mpi, tmp_path: Path, options: list[str], number: signal.Signals) -> None:
    """With Unisono as without: the job is gone, and the status says that it did not end well.

    The launcher of MPICH 4.0 says so in four of five runs only, by itself as under Unisono.
    """
    mark = uuid.uuid4().hex
    line = mpi.launch(2, ["sh", "-c", "touch started.$$; exec sleep 100"])
    process = subprocess.Popen(
        [*COMMAND, *options, "--", *line],
        env={**environment(mpi), job.MARK: mark},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        job.wait_until(lambda: len(list(tmp_path.glob("started.*"))) == 2)
        process.send_signal(number)
        status = process.wait(20)
        assert status != 0 or mpi.name == "mpich4"
        job.wait_until(lambda: not job.marked_processes(mark))
    finally:
        process.kill()
        process.wait()
        job.sweep(mark)


def test_program_in_the_working_directory(mpi: Mpi, tmp_path: Path) -> None:
    """Open MPI finds a program without ./ there, MPICH and Intel do not; the same holds under Unisono."""
    program = tmp_path / "no-such-name-in-path"
    program.write_text("#!/bin/sh\necho here\n")
    program.chmod(0o755)
    line = mpi.launch(1, [program.name])
    native = job.run(line, environment(mpi), directory=tmp_path)
    under = job.run([*COMMAND, *line], environment(mpi), directory=tmp_path)
    is_found = native.status == 0
    assert is_found == mpi.family.startswith("openmpi")
    for result in (native, under):
        assert (result.status == 0, "here" in result.output) == (is_found, is_found), str(result)


def test_section_file(mpi: Mpi, tmp_path: Path) -> None:
    """A job whose sections stand in a file does natively what it does under Unisono."""
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "sections").write_text("-n 1 ./one\n-n 2 ./two\n")
    options = mpi.launch(1, ["./one"])[:-3]
    option = "--app" if mpi.family.startswith("openmpi") else "-configfile"
    line = [*options, option, "sections"]
    native = job.run(line, environment(mpi), directory=tmp_path).check()
    under = job.run([*COMMAND, *line], environment(mpi), directory=tmp_path).check()
    assert sorted(native.output.split()) == sorted(under.output.split()) == ["one", "two", "two"]
