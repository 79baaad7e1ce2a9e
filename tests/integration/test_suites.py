# SPDX-License-Identifier: BSD-3-Clause
"""Some of others' suites under Unisono (`make conformance` runs all of them), and how their outcomes are read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import again
import job
import pytest
import run
import scalapack_suite
from cells import BAD, DIED, FAILED, HUNG, PASSED, SKIPPED, Place, Store
from document import Document
from harness import compile_program, installed, registry
from imb_suite import ImbSuite
from jobs import Jobs
from matrix_suite import MatrixSuite, read_sections
from mpi4py_suite import Mpi4pySuite, Transcript, read_transcript, stall_seconds
from mpis import BY_NAME, ROOT
from registry import SUITES
from rows import Row, Rows, found

MODULES = ["test_cco_buf", "test_cco_obj", "test_cco_vec", "test_cco_vec_inter", "test_op"]
BENCHMARKS = ["Allreduce", "Alltoallv", "Bcast", "Reduce_scatter"]


@pytest.fixture(scope="module")
def jobs() -> Jobs:
    return Jobs()


@pytest.mark.dear
@pytest.mark.in_turns(2)
@pytest.mark.parametrize(
    ("name", "variant"), [("openmpi5", "messages"), ("mpich5", "shared"), ("intel", "unisono")]
)
def test_mpi4py_tests_its_collectives(
    request: pytest.FixtureRequest, jobs: Jobs, tmp_path: Path, name: str, variant: str
):
    mpi = installed(BY_NAME[name], request.config)
    outcomes = Mpi4pySuite().run(jobs, mpi, 2, variant, MODULES, tmp_path)
    bad = [f"{part}.{case}" for part in outcomes for case, word in outcomes[part].items() if word in BAD]
    assert not bad, (tmp_path / "1/job").read_text()
    assert all(PASSED in cases.values() for cases in outcomes.values()), outcomes


@pytest.mark.dear
@pytest.mark.parametrize("name", ["mpich5", "intel"])
def test_imb_with_checked_results(request: pytest.FixtureRequest, jobs: Jobs, tmp_path: Path, name: str):
    mpi = installed(BY_NAME[name], request.config)
    for benchmark in BENCHMARKS:
        cases = ImbSuite().run(jobs, mpi, 3, "unisono", [benchmark], tmp_path)[benchmark]
        assert f"results of MPI_{benchmark}" in cases and set(cases.values()) == {PASSED}, (
            f"{cases}\n{(tmp_path / 'job').read_text()}"
        )


def test_the_shadow_finds_a_wrong_result(request: pytest.FixtureRequest, jobs: Jobs, tmp_path: Path):
    """A library behind it that spoils one byte of each broadcast is what Unisono would be if it were wrong."""
    mpi = installed(BY_NAME["mpich5"], request.config)
    shadow = compile_program(mpi, str(ROOT / "tests/conformance/shadow.c"), flags=["-shared", "-fPIC"])
    liar = compile_program(mpi, "liar.c", flags=["-shared", "-fPIC"])
    environment = {"LD_PRELOAD": f"{shadow}:{liar}"}
    program = compile_program(mpi, "collectives")
    result = jobs.run(mpi, 2, "native", [program, "roots"], tmp_path, environment)
    calls = dict(re.findall(r"shadow MPI_(\w+): \d+ calls, (\d+) differ", result.output))
    assert int(calls.pop("Bcast")) > 0 and set(calls.values()) == {"0"}, str(result)


def test_the_archive_is_of_the_installed_version():
    python = (ROOT / "requirements/python.txt").read_text().split()
    assert f"mpi4py=={Mpi4pySuite().version()}" in python


def test_a_transcript_is_read():
    text = (
        "[0@vm] mpi4py 4.1.2\n"
        "testA (test_x.TestOne.testA) ... ok\n"
        "testB (test_x.TestOne.testB)\nWhat it does ... noise of a library\nFAIL\n"
        "testC (test_x.TestOne.testC) ... skipped 'mpich'\n"
        "testD (test_x.TestTwo.testD) ...   testD (test_x.TestTwo.testD) (n=1) ... ERROR\nok\n"
        "setUpClass (test_x.TestThree) ... ERROR\n"
    )
    ended = read_transcript(
        text + f"\n{'=' * 70}\nFAIL: testB (test_x.TestOne.testB)\n\nRan 4 tests in 0.1s\n"
    )
    assert ended.is_complete and ended.under_way is None
    assert ended.outcomes == {
        "test_x.TestOne.testA": PASSED,
        "test_x.TestOne.testB": FAILED,
        "test_x.TestOne.testC": SKIPPED,
        "test_x.TestTwo.testD": FAILED,
        "test_x.TestThree.setUpClass": FAILED,
    }
    crashed = read_transcript(
        text + "testE (test_x.TestFour.testE) ... [vm:123] *** Signal: Segmentation fault\n"
    )
    assert not crashed.is_complete and crashed.under_way == "test_x.TestFour.testE"
    assert read_transcript("[0@vm] mpi4py 4.1.2\n") == Transcript()


SUITE = """
import os, sys, unittest
from mpi4py import MPI

class Test(unittest.TestCase):
    def test1(self):
        MPI.COMM_WORLD.Barrier()

    def test2(self):
        if MPI.COMM_WORLD.Get_rank() == 1:
            os.abort()
        MPI.COMM_WORLD.Barrier()

    def test21(self):
        MPI.COMM_WORLD.Barrier()

    def test3(self):
        MPI.COMM_WORLD.Barrier()
        self.assertEqual(1, 2)
"""


def test_a_crash_does_not_hide_the_rest(
    request: pytest.FixtureRequest, jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    mpi = installed(BY_NAME["intel"], request.config)
    suite = Mpi4pySuite()
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "main.py").write_text((suite.tests / "main.py").read_text())
    (tests / "test_here.py").write_text(SUITE)
    (tests / "test_there.py").write_text("import unittest\n")
    monkeypatch.setattr(suite, "tests", tests)
    directory = tmp_path / "run"
    directory.mkdir()
    outcomes = suite.run(jobs, mpi, 2, "native", ["test_here", "test_there"], directory)
    assert outcomes == {
        "test_here": {"Test.test1": PASSED, "Test.test2": DIED, "Test.test21": PASSED, "Test.test3": FAILED},
        "test_there": {},
    }


def test_scalapack_output_is_read():
    text = (
        "THRESH  : If a residual value is less than THRESH, CHECK is flagged as PASSED\n"
        "WALL     4     4   2     1    1    1    1     0.00     0.00     0.61 PASSED\n"
        "WALL     4     4   2     1    3    1    1     0.00     0.00    99.61 FAILED\n"
        "     SUBROUTINE  TOTAL TESTS  PASSED   FAILED  SKIPPED\n"
        "INTEGER SUM TESTS: 1152 TESTS;  864 PASSED,  288 SKIPPED,    0 FAILED.\n"
        " SKIPPED REPEATABLE SUM TEST\n"
        " PASSED  BLACS_GRIDMAP TEST\n"
        "    1 tests completed and failed residual checks.\n"
    )
    assert scalapack_suite.read_output(text) == {
        "INTEGER SUM TESTS (864 passed)": PASSED,
        "REPEATABLE SUM TEST": SKIPPED,
        "BLACS_GRIDMAP TEST": PASSED,
        "check 1": PASSED,
        "check 2": FAILED,
        "(the summary)": FAILED,
    }


def test_what_is_new_is_told_from_what_is_not(tmp_path: Path):
    store = Store(tmp_path)
    place = Place("mpi4py", "mpich5", 2)
    store.add(place, "native", {"a": {"1": PASSED, "2": FAILED, "3": PASSED, "4": DIED}}, 1.0, {})
    store.add(place, "unisono", {"a": {"1": FAILED, "2": DIED, "4": PASSED}, "b": {"1": FAILED}}, 1.0, {})
    comparison, parts = store.compare(place, "unisono")
    assert parts == {"a"}
    assert comparison.new_failures == {"a 1": FAILED}
    assert comparison.lost == ["a 3"]
    assert comparison.both_fail == ["a 2"]
    assert comparison.only_native_fails == ["a 4"]


def test_a_repeated_run_clears_nothing(tmp_path: Path):
    """A failure under Unisono stays, however often it passes then; only one that is seen natively as well is not new."""
    store = Store(tmp_path)
    place = Place("mpi4py", "mpich5", 2)
    store.add(place, "native", {"a": {"1": PASSED}, "b": {"1": PASSED}}, 1.0, {})
    store.add(place, "unisono", {"a": {"1": DIED}, "b": {"1": PASSED}}, 1.0, {})
    for _ in range(2):
        store.add(place, "unisono", {"a": {"1": PASSED}}, 1.0, {}, is_repeat=True)
    assert store.compare(place, "unisono")[0].new_failures == {"a 1": DIED}
    cell = store.load(place, "unisono")
    assert (cell.runs, cell.bad_runs) == ({"a": 3, "b": 1}, {"a 1": 1})
    store.add(place, "native", {"a": {"1": FAILED}}, 1.0, {}, is_repeat=True)
    assert not store.compare(place, "unisono")[0].new_failures
    store.add(place, "unisono", {"a": {"1": PASSED}}, 1.0, {})
    cell = store.load(place, "unisono")
    assert (cell.runs, cell.bad_runs) == ({"a": 1, "b": 1}, {})


def found_row(directory: Path, parts: int, outcome: str) -> Row:
    """Return the row of so many parts, each of one case that passes natively and ends thus under Unisono."""
    store = Store(directory)
    place = Place("mpi4py", "mpich5", 2)
    for part in "abc"[:parts]:
        store.add(place, "native", {part: {"1": PASSED}}, 1.0, {})
        store.add(place, "unisono", {part: {"1": outcome}}, 1.0, {"suite": "4", "mpi": "5"})
    return found(store, place, "unisono", 3)


def test_a_kept_row_stands_until_as_many_parts_are_run(tmp_path: Path):
    path = tmp_path / "rows.json"
    place = Place("mpi4py", "mpich5", 2)

    def merge(row: Row) -> Row | None:
        rows = Rows(path)
        rows.merge(row)
        rows.write()
        return Rows(path).get(place, "unisono")

    one, two = found_row(tmp_path / "one", 1, PASSED), found_row(tmp_path / "two", 2, PASSED)
    failing = found_row(tmp_path / "failing", 2, DIED)
    assert (two.parts, two.passed, failing.passed, failing.failed) == (2, (2, 2), (2, 0), (0, 2))
    assert failing.new == {"a 1": "passed / died", "b 1": "passed / died"}
    assert [merge(row) for row in (one, two, one, failing, two, failing, one)] == [
        *(one, two, two, failing, two, failing, failing)
    ]
    assert Rows(path).get(place, "messages") is None


def test_a_row_of_another_cell_replaces_nothing(tmp_path: Path):
    path = tmp_path / "rows.json"
    row = found_row(tmp_path / "store", 1, PASSED)
    others = [
        replace(row, suite="imb"),
        replace(row, mpi="intel"),
        replace(row, ranks=10),
        replace(row, variant="shared"),
    ]
    rows = Rows(path)
    for each in (row, *others):
        rows.merge(each)
    rows.write()
    assert len(path.read_text().splitlines()) == 2 + 5
    for each in (row, *others):
        assert Rows(path).get(Place(each.suite, each.mpi, each.ranks), each.variant) == each


def test_the_document_says_what_the_kept_rows_say():
    """Whoever merges the one merges the other: run.py --write-only writes it."""
    text = Document(Rows(ROOT / "tests/conformance/outcomes.json"), SUITES.values()).text()
    assert (ROOT / "docs/inside/conformance.md").read_text() == text


def conformance(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tests/conformance/run.py", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--ranks", "77"], "no suite runs on such MPIs with so many ranks"),
        (["--suite", "imb", "--mpi", "openmpi5"], "no suite runs on such MPIs with so many ranks"),
        (["--suite", "stress", "--variant", "shared"], "have no variant shared"),
        (["--suite", "stress", "--part", "frob"], "no part matches frob"),
    ],
)
def test_a_choice_of_nothing_is_refused(tmp_path: Path, words: list[str], says: str):
    document = tmp_path / "conformance.md"
    result = conformance("--document", document, *words)
    assert result.returncode == 2 and says in result.stderr, result.stderr
    assert not document.exists()


def test_a_document_elsewhere_leaves_the_kept_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The rows of the local results go into it, and into the kept ones only with the document that shows these."""
    place = Place("stress", "intel", 8)
    store = Store(tmp_path / "results")
    for variant in ("native", "unisono"):
        store.add(place, variant, {"seed-1": {"run": PASSED}}, 1.0, {"suite": "1000 turns", "mpi": "0"})
    kept = tmp_path / "outcomes.json"
    kept.write_text("[\n\n]\n")
    monkeypatch.setattr(run, "ROWS", kept)
    monkeypatch.setattr(run, "DOCUMENT", tmp_path / "conformance.md")
    words = ["run.py", "--suite", "stress", "--mpi", "intel", "--document"]
    for document, rows in ((tmp_path / "elsewhere.md", 0), (tmp_path / "conformance.md", 1)):
        monkeypatch.setattr(sys, "argv", [*words, str(document)])
        found_rows = run.keep(run.parse(), store)
        assert found_rows.get(place, "unisono") is not None
        assert len(json.loads(kept.read_text())) == rows


def test_jobs_that_are_run_again_are_counted_and_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    started: list[object] = []

    def fails(*arguments: object) -> job.Result:
        started.append(arguments)
        return result_of("", "listener thread failed to start", 1)

    monkeypatch.setattr(job, "run", fails)
    jobs = Jobs(again.RunAgain(most=1))
    for _ in range(2):
        jobs.run(BY_NAME["openmpi5"], 2, "native", ["true"], tmp_path)
    assert len(started) == 3
    assert jobs.again.counts.total() == 1


def result_of(output: str, errors: str = "", status: int = 0, is_timed_out: bool = False) -> job.Result:
    return job.Result([], status, output, errors, 1.0, is_timed_out, [])


def test_a_matrix_job_is_read():
    times = "barrier   0.1 s\ncounts   1.0 s\n"
    wrong = "rank 1 of 4: section counts: bcast is wrong\n"
    both = {"barrier": PASSED, "counts": PASSED}
    assert read_sections(result_of(times + "OK 7 checks\n")) == both
    assert read_sections(result_of(times + "FAILED 1 of 8 checks\n", wrong, 1)) == both | {"counts": FAILED}
    assert read_sections(result_of("barrier   0.1 s\n", wrong, 3)) == both | {"counts": FAILED}
    assert read_sections(result_of(times, status=-11)) == both | {"roots": DIED}
    assert read_sections(result_of(times, status=-9, is_timed_out=True)) == both | {"roots": HUNG}


def test_the_matrix_forces_every_algorithm():
    choices = ",".join(MatrixSuite().choices().values())
    for entry in registry():
        assert re.search(rf"\b{entry['operation']}:{entry['name']}\b", choices), entry["name"]


def test_a_job_may_stand_still_longer_where_ranks_share_cores():
    assert [stall_seconds(ranks, 2) for ranks in (1, 4, 5, 8)] == [120, 120, 150, 240]
    assert stall_seconds(8, 8) == 120
