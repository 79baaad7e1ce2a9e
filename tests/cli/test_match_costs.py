# SPDX-License-Identifier: BSD-3-Clause
"""What an MPI takes to look at an element of a queue: how `unisono match bench -- LAUNCHER` finds it, and what goes by it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import BUILD, Stage, needs_build
from test_bench import scripted_mpi
from unisono.commands.group import cli
from unisono.common.errors import UsageError
from unisono.measuring import matching_bench
from unisono.measuring.matching_bench import Cell

_LIBRARY = {"library": "MPICH Version:      5.0.1\nMPICH Release date: none"}


def _cell(native_ns: float, **changes: object) -> Cell:
    standard = {"queue": "posted", "order": "reverse", "any_source": 0, "depth": 2047, "senders": 1}
    return Cell(**{**standard, **changes}, native_ns=native_ns, unisono_ns=50.0)  # type: ignore[arg-type]


def _line(native_ns: list[float], **changes: object) -> str:
    said = {"queue": "posted", "order": "reverse", "any_source": 0, "depth": 2047, "senders": 1, **changes}
    return json.dumps({**said, "native_s": [1e-9 * ns for ns in native_ns], "unisono_s": [2e-8, 3e-8, 9e-8]})


def test_an_element_costs_what_a_match_does_by_half_the_queue() -> None:
    assert matching_bench.element_ns([_cell(4096.0)]) == {"posted": 4.0}
    # The least of several; cells that look at another number of elements, or are short, tell nothing.
    others = [
        _cell(1.0, order="forward"),
        _cell(1.0, order="middle"),
        _cell(1.0, any_source=50),
        _cell(1.0, senders=2),
        _cell(1.0, depth=1023),
    ]
    # One queue may be a list and the other one a table, as under Intel MPI.
    deep = [_cell(4096.0), _cell(256.0, queue="unexpected"), _cell(1537.5, depth=1024)]
    assert matching_bench.element_ns([*others, *deep]) == {
        "posted": pytest.approx(3.0),
        "unexpected": pytest.approx(0.25),
    }
    assert matching_bench.element_ns(others) == {}
    assert matching_bench.element_ns([]) == {}


def test_a_job_says_its_mpi_and_cells() -> None:
    said = ["some noise", json.dumps(_LIBRARY), _line([9000.0, 4096.0, 1.0]), _line([7.0], order="forward")]
    program = f"print({chr(10).join(said)!r}); raise SystemExit(3)"
    heard: list[Cell] = []
    name, cells, status = matching_bench.measure([sys.executable, "-c", program], heard.append)
    assert (name, status) == ("MPICH 5.0.1", 3)
    assert cells == heard and [cell.order for cell in cells] == ["reverse", "forward"]
    assert cells[0].native_ns == pytest.approx(4096) and cells[0].unisono_ns == pytest.approx(30)
    assert cells[0].speedup == pytest.approx(4096 / 30)


def test_a_job_of_one_rank_is_refused() -> None:
    words = [sys.executable, "-c", "print('{\"ranks\": 1}')"]
    with pytest.raises(UsageError, match="this launcher starts 1: it takes 2 at least"):
        matching_bench.measure(words, lambda cell: None)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where costs are kept."""
    monkeypatch.setenv("UNISONO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "matching-costs.json"


def test_costs_are_kept_by_mpi(kept: Path) -> None:
    assert matching_bench.kept_costs() == {}
    matching_bench.keep_cost("MPICH 5.0.1", {"posted": 4.00049, "unexpected": 2})
    matching_bench.keep_cost("Open MPI 5.0.11", {"posted": 2.5})
    matching_bench.keep_cost("MPICH 5.0.1", {"posted": 3.25049})
    costs = matching_bench.kept_costs()
    assert {name: cost["ns"] for name, cost in costs.items()} == {
        "MPICH 5.0.1": {"posted": 3.25, "unexpected": 2},
        "Open MPI 5.0.11": {"posted": 2.5},
    }
    assert all(len(cost["date"].split("-")) == 3 for cost in costs.values())


def test_costs_of_others_and_damaged_ones_are_none(kept: Path) -> None:
    matching_bench.keep_cost("MPICH 5.0.1", {"posted": 4.0})
    kept.chmod(0o666)
    assert matching_bench.kept_costs() == {}
    kept.chmod(0o600)
    assert matching_bench.kept_costs()
    kept.write_text("{")
    assert matching_bench.kept_costs() == {}


def _trace(mpi: str) -> str:
    """Rank 0 looks at 5050 elements."""
    lines = [f"post {i} {i} 1 {i} 0 8" for i in range(100)]
    lines += [f"arrive {100 + i} 1 {99 - i} 0 8" for i in range(100)]
    return f"unisono-message-trace 1\nranks 4\nmpi {mpi}\nrank 0\nrun 1000000\n" + "\n".join(lines) + "\n"


_ASSUMED = "assumed; `unisono match bench -- mpirun -n 2` measures it"


@needs_build
@pytest.mark.parametrize(
    ("queues", "words", "ns", "said"),
    [
        ({"posted": 20.5, "unexpected": 0.25}, (), (20.5, 0.25), "measured on this MPI on 2026-11-30"),
        ({"posted": 20.5}, (), (20.5, 20.5), "measured on this MPI on 2026-11-30"),
        ({"posted": 20.5, "unexpected": 2000}, (), (20.5, 20.5), "measured on this MPI on 2026-11-30"),
        ({"posted": 20.5}, ("--ns-per-element", "7"), (7, 7), "as given"),
        ({"posted": 2000}, (), (5, 5), _ASSUMED),
        ({"posted": "4"}, (), (5, 5), _ASSUMED),
        (4, (), (5, 5), _ASSUMED),
        (None, (), (5, 5), _ASSUMED),
    ],
)
def test_reports_go_by_what_is_kept_else_it_is_assumed(
    stage: Stage,
    built: dict[str, str],
    kept: Path,
    queues: object,
    words: tuple[str, ...],
    ns: tuple[float, float],
    said: str,
) -> None:
    (stage.work / "some.trace").write_text(_trace("MPICH 5.0.1"))
    matching_bench.keep_cost("MPICH 5.0.2", {"posted": 1.0})  # another one, which says nothing of this
    if queues is not None:
        kept.write_text(json.dumps({"MPICH 5.0.1": {"ns": queues, "date": "2026-11-30"}}))
    changes = {**built, "UNISONO_CACHE": str(kept.parent)}
    command = ("match", "report", "some.trace", *words)
    answer = stage.unisono(*command, "--json", environment=changes)
    found = json.loads(answer.stdout)
    assert found["ns_per_element"] == {"posted": ns[0], "unexpected": ns[1]} and found["cost"] == said
    # Its arrivals find receives that wait, and no receive looks for messages.
    assert found["of_ranks"][0]["low"]["present_ns"] == pytest.approx(5050 * ns[0])
    text = " ".join(stage.unisono(*command, environment=changes).stdout.split())
    each = (
        f"{ns[0]:.3g} ns" if ns[0] == ns[1] else f"{ns[0]:.3g} ns of receives and {ns[1]:.3g} ns of messages"
    )
    assert f"where an element costs {each} ({said})" in text


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Path) -> list[str]:
    """What would start ranks; the program that it starts writes down its words and says $BENCH_LINES."""
    mpicc = (
        '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n'
        f'printf \'#!/bin/sh\\necho "$*" > {tmp_path}/asked\\n'
        'printf "%%s\\\\n" "$BENCH_LINES"\\nexit ${BENCH_STATUS:-0}\\n\' > "$2"; chmod +x "$2"\n'
    )
    return [str(scripted_mpi(tmp_path, monkeypatch, mpicc) / "mpirun"), "-n", "2"]


@needs_build
def test_bench_of_ranks_keeps_what_reports_go_by(
    launcher: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [
        json.dumps(_LIBRARY),
        _line([8192.0, 8193.0, 8191.0]),
        _line([100.0], depth=16),
        _line([9.0], order="forward"),
    ]
    monkeypatch.setenv("BENCH_LINES", "\n".join(said))
    words = [
        "match",
        "bench",
        "--rounds",
        "3",
        "--queue",
        "posted",
        "--any-source",
        "0",
        "--depth",
        "16,2047",
    ]
    done = CliRunner().invoke(cli, [*words, "--json", "--", *launcher])
    assert done.exit_code == 0, done.output
    cells = "p:f:0:16 p:f:0:2047 p:m:0:16 p:m:0:2047 p:r:0:16 p:r:0:2047"
    assert (tmp_path / "asked").read_text() == f"3 1 {cells}\n"
    found = json.loads(done.stdout)
    assert found["mpi"] == "MPICH 5.0.1" and found["ns_per_element"] == {"posted": pytest.approx(8.0)}
    assert [cell["depth"] for cell in found["cells"]] == [2047, 16, 2047]
    assert found["cells"][0]["speedup"] == pytest.approx(8192 / 30)
    assert matching_bench.kept_costs()["MPICH 5.0.1"]["ns"] == {"posted": 8.0}
    text = CliRunner().invoke(cli, [*words, "--", *launcher]).stdout
    assert "MPICH 5.0.1, 2 ranks; ns for each message: MPI, Unisono, ratio" in text
    assert (
        "8,192, 30.0, 273" in text
        and "looks at an element of its queues in 8 ns (receives that wait);" in text
    )
    monkeypatch.setenv("UNISONO_HOME", str(BUILD))
    (tmp_path / "some.trace").write_text(_trace("MPICH 5.0.1"))
    report = CliRunner().invoke(cli, ["match", "report", str(tmp_path / "some.trace"), "--json"])
    answer = json.loads(report.stdout)
    assert answer["ns_per_element"] == {"posted": 8, "unexpected": 8} and answer["cost"].startswith(
        "measured on this MPI on 20"
    )


@needs_build
def test_bench_of_ranks_keeps_nothing_of_short_queues(
    launcher: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_LINES", "\n".join([json.dumps(_LIBRARY), _line([100.0], depth=16)]))
    done = CliRunner().invoke(cli, ["match", "bench", "--", *launcher])
    assert done.exit_code == 0, done.output
    assert "posted" in done.stdout and "looks at an element" not in done.stdout
    assert matching_bench.kept_costs() == {}


@needs_build
def test_bench_of_ranks_ends_as_its_job_does(launcher: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_LINES", json.dumps(_LIBRARY))
    monkeypatch.setenv("BENCH_STATUS", "7")
    done = CliRunner().invoke(cli, ["match", "bench", "--", *launcher])
    assert done.exit_code == 7 and "the benchmark ended with status 7" in done.output
    monkeypatch.setenv("BENCH_STATUS", "0")
    done = CliRunner().invoke(cli, ["match", "bench", "--", *launcher])
    assert done.exit_code == 1 and "the benchmark ended with status 0" in done.output
