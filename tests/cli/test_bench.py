# SPDX-License-Identifier: BSD-3-Clause
"""`unisono bench`: statistics, and the way from the launcher's words to a table, with a compiler and programs of the test's own."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import BUILD, Stage, compiled_with_benchmarks, needs_build
from unisono.commands.group import cli
from unisono.commands.values import size_in_bytes
from unisono.common import tool
from unisono.common.errors import Terminated
from unisono.measuring import bench

LINE = {"operation": "allreduce", "bytes": 8, "ranks": 2, "batch": 4, "is_same": True}


def line(**changes: object) -> str:
    native = [2e-6, 2.2e-6, 1.8e-6, 2.1e-6, 1.9e-6]
    return json.dumps({**LINE, "native_s": native, "unisono_s": [t / 2 for t in native], **changes})


@pytest.mark.parametrize(
    "words",
    [
        "--samples 0",
        "--samples -5",
        "--seconds -1",
        "--seconds 0",
        "--finalists 0",
        "--finalists -1",
        "--seed -1",
    ],
)
def test_numbers_that_make_no_sense(words: str):
    done = CliRunner().invoke(cli, ["bench", *words.split(), "--", "mpirun"])
    assert done.exit_code == 2 and words.split(maxsplit=1)[0] in done.output


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def scripted_mpi(root: Path, monkeypatch: pytest.MonkeyPatch, mpicc: str, algorithms: str = "[]") -> Path:
    """An MPI of scripts, whose launcher runs what follows its `-n N`, and a home of Unisono's: the folder of the MPI's
    programs. `mpicc` writes the program "$2"; `algorithms` is what the tool lists."""
    folder = root / "mpi" / "bin"
    executable(folder / "mpicc", mpicc)
    executable(
        folder / "mpirun",
        '#!/bin/sh\n[ "$1" != --version ] || { echo "mpirun (Open MPI) 5.0.0"; exit; }\nshift 2; exec "$@"\n',
    )
    home = root / "home"
    executable(
        home / "bin" / "unisono-exec", '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift; exec "$@"\n'
    )
    # Launchers' command lines are nothing to stand in for.
    real = f'case $1 in launch|launchers|run) exec {BUILD}/bin/unisono-tool "$@" ;; esac'
    executable(home / "bin" / "unisono-tool", f"#!/bin/sh\n{real}\necho '{algorithms}'\n")
    (home / "lib").mkdir()
    (home / "lib" / "libunisono.so").write_text("")
    tool.algorithms.cache_clear()  # of a test's home before
    monkeypatch.setenv("UNISONO_HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    return folder


@pytest.fixture
def mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """mpicc makes a program that prints $BENCH_LINES."""
    return scripted_mpi(
        tmp_path,
        monkeypatch,
        '#!/bin/sh\n[ -z "$BENCH_BROKEN" ] || { echo broken >&2; exit 1; }\n'
        'while [ "$1" != -o ]; do shift; done\n'
        'printf \'#!/bin/sh\\nprintf "%%s\\\\n" "$BENCH_LINES"\\nexit ${BENCH_STATUS:-0}\\n\' > "$2"; chmod +x "$2"\n',
    )


def test_each_section_of_the_launcher_gets_the_program(mpi: Path) -> None:
    launcher = [str(mpi / "mpirun"), "-n", "1", ":", "-n", "2"]
    words = bench.command_line(launcher, {}, ["--operations", "bcast"])
    first, second = words[1 : words.index(":")], words[words.index(":") + 1 :]
    assert first[:2] == ["-n", "1"] and second[:2] == ["-n", "2"]
    assert first[2:] == second[2:]
    assert Path(first[2]).name == "unisono-exec" and first[-3:] == [words[-3], "--operations", "bcast"]


def run(mpi: Path, *options: str) -> object:
    return CliRunner().invoke(cli, ["bench", *options, "--", str(mpi / "mpirun"), "-n", "2"])


def test_interval_holds_the_ratio_and_narrows_with_quiet_samples() -> None:
    random = np.random.default_rng(1)
    quiet = random.normal(2, 0.01, 100)
    noisy = random.normal(2, 0.5, 100)
    low, high = bench.ratio_interval(quiet, quiet / 2, random)
    assert low <= 2 <= high
    noisy_low, noisy_high = bench.ratio_interval(noisy, random.permutation(noisy) / 2, random)
    assert noisy_high - noisy_low > high - low


def test_what_left_early_is_put_beside_what_stayed() -> None:
    """Native took part while the machine was slow, twice as long as now; it takes three times as long as the candidate."""
    slow, now = [2.0, 2.2, 1.8], [1.0] * 9
    measured = {
        "operation": "bcast",
        "bytes": 8,
        "ranks": 2,
        "batch": 1,
        "is_same": True,
        "unisono": "flat",
        "native_s": [3 * s for s in slow],
        "unisono_s": [2 * s for s in slow],
        "candidates": [{"name": "ring", "tried_s": 1, "samples_s": slow + now}],
    }
    cell = bench.cell(measured, np.random.default_rng(1))
    (ring,) = cell.candidates
    assert ring.seconds == 1
    assert (cell.native_s, cell.unisono_s) == (3, 2)
    assert (cell.speedup, ring.speedup, ring.gain_low) == pytest.approx((1.5, 3, 2))
    assert cell.unisono_low_s <= 2 <= cell.unisono_high_s


@pytest.mark.parametrize(
    ("text", "expected"), [("8", 8), ("64K", 65536), ("4MiB", 4 << 20), ("1gb", 1 << 30), (" 2k ", 2048)]
)
def test_sizes(text: str, expected: int) -> None:
    assert size_in_bytes(text) == expected


def test_table_names_speed_up_and_results(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_LINES", line())
    result = run(mpi, "--operation", "allreduce", "--size", "8")
    assert result.exit_code == 0, result.output
    assert "2.00" in result.output
    assert "same" in result.output


def test_json_and_csv_hold_the_cells(mpi: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCH_LINES", line())
    result = run(mpi, "--json", "--csv", str(tmp_path / "cells.csv"))
    assert result.exit_code == 0, result.output
    (cell,) = json.loads(result.stdout)
    assert cell["speedup"] == pytest.approx(2)
    assert cell["speedup_low"] <= 2 <= cell["speedup_high"]
    assert (tmp_path / "cells.csv").read_text().startswith("operation,bytes,")


def test_conditions_go_to_the_program_and_are_said(
    mpi: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The program writes down its options before it prints its lines.
    monkeypatch.setenv("BENCH_LINES", line())
    words = bench.command_line([str(mpi / "mpirun"), "-n", "2"], {}, [])
    program = Path(words[-1])
    said = tmp_path / "options"
    executable(program, f'#!/bin/sh\necho "$@" > {said}\nprintf "%s\\n" "$BENCH_LINES"\n')
    result = run(
        mpi,
        "--skew",
        "20",
        "--seed",
        "7",
        "--cold",
        "--start",
        "window",
        "--comm",
        "split:2",
        "--form",
        "non-blocking",
        "--graph",
        "moore:2,1",
    )
    assert result.exit_code == 0, result.output
    options = said.read_text().split()
    for wanted in (
        ["--skew", "20"],
        ["--seed", "7"],
        ["--start", "window"],
        ["--comm", "split:2"],
        ["--form", "non-blocking"],
        ["--graph", "moore:2,1"],
    ):
        at = options.index(wanted[0])
        assert options[at : at + 2] == wanted
    assert "--cold" in options and "--skip-verify" not in options, (
        "results are compared unless told otherwise"
    )
    assert "within 20 us at random (seed 7)" in result.output
    assert (
        "communicator: split:2; start: window; caches: cold; calls that do not block, each waited for at once"
        in result.output
    )
    assert run(mpi).exit_code == 0
    assert "--skew" not in said.read_text() and "--cold" not in said.read_text()


def test_plot(mpi: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCH_LINES", "\n".join([line(), line(bytes=1024), line(operation="bcast")]))
    result = run(mpi, "--plot", str(tmp_path / "cells.svg"))
    assert result.exit_code == 0, result.output
    assert "</svg>" in (tmp_path / "cells.svg").read_text()


def test_intervals_of_the_medians_are_in_the_cells(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_LINES", line())
    (cell,) = json.loads(run(mpi, "--json").stdout)
    for name in ("native", "unisono"):
        assert cell[f"{name}_low_s"] <= cell[f"{name}_s"] <= cell[f"{name}_high_s"]
    assert cell["native_low_s"] >= 1.8e-6 and cell["native_high_s"] <= 2.2e-6


def test_different_results_fail(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_LINES", line(is_same=False))
    monkeypatch.setenv("BENCH_STATUS", "1")
    result = run(mpi)
    assert result.exit_code == 1
    assert "DIFFERENT" in result.output


def test_a_run_without_samples_fails(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_LINES", "nothing to see")
    assert run(mpi).exit_code == 1


def test_compiled_once(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_LINES", line())
    assert run(mpi).exit_code == 0
    monkeypatch.setenv("BENCH_BROKEN", "1")
    assert run(mpi).exit_code == 0, "the program is taken from the cache"


def test_a_compiler_that_fails_is_quoted(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_BROKEN", "1")
    result = run(mpi)
    assert result.exit_code == 1
    assert "broken" in result.output


@pytest.mark.parametrize(
    "options",
    [
        ("--operation", "allreduce,nosuch"),
        ("--size", "8,x"),
        ("--comm", "split:0"),
        ("--comm", "split"),
        ("--comm", "moon"),
        ("--graph", "moon"),
        ("--graph", "moore:2"),
        ("--graph", "moore:0,1"),
        ("--graph", "random:1.5"),
        ("--graph", "ring:3"),
        ("--start", "whistle"),
        ("--skew", "-1"),
        ("--plot", "cells.txt"),
    ],
)
def test_wrong_words_are_usage_errors(mpi: Path, options: tuple[str, ...]) -> None:
    assert run(mpi, *options).exit_code == 2


def test_compiler_has_the_launchers_suffix(tmp_path: Path) -> None:
    for name in ("mpirun.mpich", "mpicc.mpich", "mpicc"):
        executable(tmp_path / name, "#!/bin/sh\n")
    assert bench.compiler_beside(str(tmp_path / "mpirun.mpich")) == tmp_path / "mpicc.mpich"
    os.remove(tmp_path / "mpicc.mpich")
    assert bench.compiler_beside(str(tmp_path / "mpirun.mpich")) == tmp_path / "mpicc"


def test_an_algorithm_that_there_is_not_is_refused_before_the_job(
    stage: Stage, built: dict[str, str]
) -> None:
    answer = stage.unisono("bench", "--algorithm", "bcast:chian", "--", "/no/mpirun", environment=built)
    assert answer.returncode == 2
    assert "--algorithm bcast:chian: " in answer.stderr
    assert "there is no algorithm 'chian' for bcast; did you mean 'chain'?" in answer.stderr


def test_what_no_call_counts_is_refused(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_LINES", line())
    for size in ("2G", "3G", "4294967304", "8G"):
        result = run(mpi, "--operation", "bcast", "--size", f"8,{size}")
        assert result.exit_code == 2 and "counts its bytes with an int" in result.output
    assert run(mpi, "--operation", "bcast", "--size", "2147483647").exit_code == 0
    many = ",".join(str(8 * n) for n in range(1, 66))
    assert "65 sizes are more than the 64" in run(mpi, "--size", many).output


def test_sizes_that_cut_an_element_are_said_to_be_left_out(
    mpi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_LINES", line(operation="bcast"))
    result = run(mpi, "--operation", "bcast,allreduce,scan", "--size", "3,8")
    assert result.exit_code == 0
    assert "left out: allreduce 3 B; scan 3 B: they add up doubles" in result.output
    result = run(mpi, "--operation", "allreduce", "--size", "3")
    assert result.exit_code == 2 and "nothing is left to measure of allreduce 3 B" in result.output
    assert "left out" not in run(mpi, "--operation", "bcast,barrier", "--size", "3").output


def test_two_files_of_one_name_are_refused(
    mpi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(mpi, "--csv", "same.svg", "--plot", "./same.svg")
    assert result.exit_code == 2 and "--csv and --plot name the same file" in result.output
    assert not Path("same.svg").exists()


@pytest.mark.parametrize("option", ["--csv", "--plot"])
def test_what_cannot_be_written_is_found_out_before_the_job(
    mpi: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr("unisono.measuring.bench.measure", lambda *_: pytest.fail("the job was started"))
    for file, said in (("/proc/no/cells.svg", "cannot write"), ("/dev/null/x.svg", "cannot write")):
        result = run(mpi, option, file)
        assert result.exit_code == 1 and said in result.output
    if option == "--csv":
        assert "no regular file" in run(mpi, "--csv", "/dev/null").output


def test_a_full_disk_costs_no_results(mpi: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCH_LINES", line())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for option, name, writes in (
        ("--csv", "cells.csv", "pathlib.Path.replace"),
        ("--plot", "cells.svg", "matplotlib.figure.Figure.savefig"),
    ):
        folder = tmp_path / option
        folder.mkdir()
        assert run(mpi, "--operation", "bcast").exit_code == 0, "compiled"
        with monkeypatch.context() as patched:
            patched.setattr(writes, lambda *_, **__: full())
            result = run(mpi, option, str(folder / name))
        assert result.exit_code == 1 and f"{name}: No space left on device" in result.output
        assert isinstance(result.exception, SystemExit)
        assert "2.00" in result.output, "what was measured is printed all the same"
        assert not list(folder.iterdir())


def test_a_cache_that_cannot_be_written(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    measure = ["machine", "measure"]
    for words, what in (
        (["bench"], "the compiled benchmark program"),
        (["tune"], "the compiled benchmark program"),
        (measure, "a machine"),
        ([*measure, "--output", "machine.json"], "the compiled benchmark program"),
    ):
        result = CliRunner().invoke(cli, [*words, "--", str(mpi / "mpirun"), "-n", "2"])
        assert result.exit_code == 1, result.output
        assert isinstance(result.exception, SystemExit)
        assert f"cannot keep {what} in /proc/nowhere" in result.output
        assert "let UNISONO_CACHE or XDG_CACHE_HOME name" in result.output


def test_a_launcher_that_there_is_not(mpi: Path) -> None:
    for name in ("nosuch", "./mpirun.nosuch"):
        result = CliRunner().invoke(cli, ["tune", "--machine", "none", "--", name, "-n", "1"])
        assert result.exit_code == 127 and f"{name}: the launcher was not found" in result.output
    result = CliRunner().invoke(cli, ["bench", "--", "true", "-n", "1"])
    assert result.exit_code == 1 and "true is no launcher that is known here" in result.output


@needs_build
@pytest.mark.parametrize("tried", ["chain(foo=1)", "chain(segment=oops)", "ring,bcast:chain(foo=1)"])
def test_parameters_that_there_are_not_are_refused(
    mpi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: str
) -> None:
    real = tmp_path / "home/bin/unisono-tool"
    real.unlink()
    real.symlink_to(BUILD / "bin/unisono-tool")
    monkeypatch.setenv("BENCH_LINES", line())
    result = run(mpi, "--operation", "bcast,allreduce", "--try", tried)
    assert result.exit_code == 2 and "--try bcast:chain(" in result.output
    assert ("'foo'" if "foo" in tried else "'segment' of chain takes") in result.output
    result = run(mpi, "--operation", "bcast", "--try", "chain(segment=64K,window=2)")
    assert result.exit_code == 0, result.output


def test_ctrl_c_ends_with_the_shells_status(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("unisono.measuring.bench.compile_program", lambda *_, **__: interrupted())
    for name in ("bench", "tune"):
        result = CliRunner().invoke(cli, [name, "--", str(mpi / "mpirun"), "-n", "2"])
        assert result.exit_code == 130
        assert "unisono: interrupted" in result.output and "Aborted" not in result.output


def test_what_was_measured_before_the_end_is_printed(mpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(words: object, on_cell: Callable[[bench.Cell], None]) -> None:
        on_cell(bench.cell(json.loads(line()), np.random.default_rng(0)))
        raise Terminated(signal.SIGTERM)

    monkeypatch.setattr("unisono.measuring.bench.measure", measured)
    monkeypatch.setattr("unisono.measuring.bench.command_line", lambda *_: ["true"])
    result = run(mpi, "--operation", "bcast", "--size", "8,64")
    assert result.exit_code == 128 + signal.SIGTERM
    assert "interrupted after 1 of 2 cells" in result.output and "95 % interval" in result.output


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What the expression says in a program with the operations of the benchmark programs, on 4 ranks of an MPI that is none."""
    calls = "Barrier Bcast Reduce Allreduce Gather Scatter Allgather Alltoall Reduce_scatter_block Scan Exscan Allgatherv"
    calls += " Reduce_scatter Alltoallv Alltoallw Gatherv Scatterv Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall"
    calls += (
        " Neighbor_alltoallv Neighbor_alltoallw Comm_rank Comm_size Dims_create Cart_create Cart_shift Abort"
    )
    calls += " Dist_graph_create_adjacent Wait"
    calls += "".join(f" I{name.lower()}" for name in calls.split())
    stub = "#pragma once\ntypedef int MPI_Comm, MPI_Datatype, MPI_Request;\ntypedef long MPI_Aint;\n"
    stub += "enum { MPI_COMM_WORLD, MPI_COMM_NULL, MPI_BYTE, MPI_DOUBLE, MPI_SUM, MPI_INFO_NULL };\n"
    stub += "#define MPI_STATUS_IGNORE NULL\n"
    (tmp_path / "mpi.h").write_text(
        stub + "".join(f"#define MPI_{name}(...) ((void)0)\n" for name in calls.split())
    )
    monkeypatch.setenv("CPATH", str(tmp_path))

    def answer(expression: str, *words: str) -> str:
        main = "int main(int n, char** words) { int b[4]; size = 4;"
        program = compiled_with_benchmarks(
            tmp_path, "said", f'#include "measured_operations.h"\n{main} printf("%d", {expression}); }}\n'
        )
        return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout

    return answer


@pytest.mark.parametrize(
    ("sizes", "count"),
    [("", 0), ("8,2147483647,0", 3), ("8,2147483648", -1), ("4294967304", -1), ("-8", -1), ("8,x", -1)],
)
def test_sizes_of_the_program(says: Callable[..., str], sizes: str, count: int) -> None:
    assert says("read_sizes(words[1], b, 4)", sizes) == str(count)


@pytest.mark.parametrize(
    ("operation", "size", "has"),
    [("bcast", 2147483647, 1), ("gather", 1 << 28, 1), ("gather", 1 << 29, 0), ("alltoallv", 1 << 30, 0)],
)
def test_blocks_are_counted_together(says: Callable[..., str], operation: str, size: int, has: int) -> None:
    counted = says("have_counts(words[1], b, read_sizes(words[2], b, 4), 1)", operation, str(size))
    assert counted == str(has)
