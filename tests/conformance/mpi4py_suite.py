# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own test suite, from its source archive as it is, over the wheel of the same version.

A part is a module of tests, a case a test. Each rank writes what its tests report into a file of its own; a
test's outcome is the worst of its ranks'. Where a job dies or stands still, the tests that were under way
then are looked at alone, to find the one that did it. The others are run in a further job that leaves it out,
so that one crash does not hide the rest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import job
from cells import DIED, FAILED, HUNG, NATIVE, PASSED, SKIPPED, UNDER_UNISONO, Outcomes, worse
from jobs import Jobs
from mpis import ROOT, Mpi

REQUIREMENT = ROOT / "requirements/mpi4py-source.txt"
SOURCES = ROOT / "build/conformance/sources"
RANK = Path(__file__).resolve().parent / "rank.sh"

# Longer where ranks share cores: a minute for each rank of a core.
STALL_SECONDS = 120.0
STALL_SECONDS_OF_A_RANK = 60.0
JOB_SECONDS = 1500.0
END = "(the job's end)"

# "testSend (test_p2p_buf.TestP2PBufSelf.testSend) ... ok", with what libraries print in between.
_BEGIN = re.compile(r"^(\w+) \((test_\w+(?:\.\w+)+)\)", re.MULTILINE)
_OUTCOME = re.compile(
    r"(?:^|\.\.\. *)(ok|FAIL|ERROR|skipped\b.*|expected failure|unexpected success)$", re.MULTILINE
)
_WORDS = {"ok": PASSED, "FAIL": FAILED, "ERROR": FAILED, "unexpected success": FAILED}
_END_OF_TESTS = re.compile(r"^Ran \d+ tests? in ", re.MULTILINE)


def stall_seconds(ranks: int, cores: int) -> float:
    """Return after how long without a report a job counts as hung."""
    return max(STALL_SECONDS, STALL_SECONDS_OF_A_RANK * ranks / cores)


@dataclass
class Transcript:
    """What one rank reported: finished tests with outcomes, the test under way at the end, whether it got to the end."""

    outcomes: Outcomes = field(default_factory=dict)
    under_way: str | None = None
    is_complete: bool = False


def read_transcript(text: str) -> Transcript:
    """Read what `main.py -v` printed on one rank."""
    end = _END_OF_TESTS.search(text)
    transcript = Transcript(is_complete=end is not None)
    # Behind the last test come the tracebacks, where a name may stand again.
    summary = re.search(r"^={70}$", text, re.MULTILINE)
    limit = summary.start() if summary else end.start() if end else len(text)
    begins = list(_BEGIN.finditer(text, 0, limit))
    for begin, following in zip_longest(begins, begins[1:]):
        name = begin[2] if begin[2].endswith("." + begin[1]) else f"{begin[2]}.{begin[1]}"
        found = _OUTCOME.findall(text, begin.end(), following.start() if following else limit)
        if not found:
            if following is None:
                transcript.under_way = name
            continue
        for words in found:
            outcome = SKIPPED if words.startswith("skipped") else _WORDS.get(words, PASSED)
            transcript.outcomes[name] = worse(transcript.outcomes.get(name), outcome)
    return transcript


@dataclass
class Round:
    """One job's end: outcomes by test, the tests under way in their order if it did not get to the end, and how it ended."""

    outcomes: Outcomes
    under_way: list[str]
    is_complete: bool
    how: str


class Mpi4pySuite:
    """The suite, as tests/conformance runs it."""

    name = "mpi4py"
    title = "mpi4py's test suite"
    about = (
        "The tests of mpi4py's source archive as they are, over the wheel of the same version, run by its own `test/main.py -v`. "
        "A job runs 16 of its modules, or fewer. Some jobs die, or stand still for two minutes (with more than two ranks to a core, a minute "
        "for each of them). The test that did it is left out of the next job, natively and under Unisono alike."
    )
    mpis = ("openmpi5", "mpich5", "intel", "openmpi4", "mpich4")
    variants = (NATIVE, *UNDER_UNISONO)
    parts_per_job = 16

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (1, 2, 3, 4, 5, 8)

    @cached_property
    def _requirement(self) -> tuple[str, str]:
        line = next(line for line in REQUIREMENT.read_text().splitlines() if line.startswith("mpi4py=="))
        return line.split()[0].removeprefix("mpi4py=="), line

    def version(self) -> str:
        return self._requirement[0]

    @cached_property
    def tests(self) -> Path:
        """The folder of the tests; the archive comes from the package registry, once, and its hash is checked."""
        unpacked = SOURCES / f"mpi4py-{self.version()}"
        if not unpacked.exists():
            SOURCES.mkdir(parents=True, exist_ok=True)
            options = "--quiet --disable-pip-version-check --no-input --no-deps --no-binary :all: --no-build-isolation"
            command = [sys.executable, "-m", "pip", "download", *options.split(), "--require-hashes"]
            subprocess.run([*command, "--dest", str(SOURCES), "-r", str(REQUIREMENT)], check=True)
            # Two runs may do this at the same time: each unpacks for itself, and one of them is first.
            with tempfile.TemporaryDirectory(dir=SOURCES) as partial:
                with tarfile.open(SOURCES / f"mpi4py-{self.version()}.tar.gz") as archive:
                    archive.extractall(partial, filter="data")
                try:
                    (Path(partial) / unpacked.name).rename(unpacked)
                except OSError:
                    if not unpacked.exists():
                        raise
        return unpacked / "test"

    def parts(self, mpi: Mpi) -> list[str]:
        return sorted(path.stem for path in self.tests.glob("test_*.py"))

    def environment(self, mpi: Mpi) -> dict[str, str]:
        """Return what ranks have beside that."""
        return {}

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        run = _Run(self, jobs, mpi, ranks, variant, directory)
        result: dict[str, Outcomes] = {part: {} for part in parts}
        for name, outcome in run.modules(parts).items():
            module, _, test = name.partition(".")
            result[module][test] = outcome
        return result


class _Run:
    """The jobs that it takes to get an outcome for every test of some modules."""

    def __init__(
        self, suite: Mpi4pySuite, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, directory: Path
    ) -> None:
        self.suite, self.jobs, self.mpi, self.ranks = suite, jobs, mpi, ranks
        self.variant, self.directory = variant, directory
        self.count = 0

    def job(self, arguments: Sequence[str]) -> Round:
        self.count += 1
        directory = self.directory / str(self.count)
        directory.mkdir()
        command = [RANK, directory / "rank", sys.executable, "-B", self.suite.tests / "main.py", "-v"]
        result = self.jobs.run(
            self.mpi,
            self.ranks,
            self.variant,
            [*command, *arguments],
            directory,
            self.jobs.python(self.mpi) | self.suite.environment(self.mpi),
            timeout=JOB_SECONDS,
            watch=job.Watch(directory, stall_seconds(self.ranks, len(os.sched_getaffinity(0)))),
        )
        (directory / "job").write_text(str(result))
        files = [directory / f"rank.{rank}" for rank in range(self.ranks)]
        texts = [file.read_text(errors="replace") if file.exists() else "" for file in files]
        transcripts = [read_transcript(text) for text in texts]
        outcomes: Outcomes = {}
        for transcript in transcripts:
            for name, outcome in transcript.outcomes.items():
                outcomes[name] = worse(outcomes.get(name), outcome)
        under_way = sorted({transcript.under_way for transcript in transcripts} - {None})
        is_complete = all(transcript.is_complete for transcript in transcripts)
        if is_complete:
            has_failed = any(outcome == FAILED for outcome in outcomes.values())
            if result.is_timed_out or (result.status != 0 and not has_failed):
                outcomes[END] = HUNG if result.is_timed_out else DIED
        else:
            for name in under_way:
                outcomes.pop(name, None)
        return Round(outcomes, under_way, is_complete, HUNG if result.is_timed_out else DIED)

    def modules(self, parts: Sequence[str], left_out: Sequence[str] = ()) -> Outcomes:
        """Run these modules without the tests `left_out`."""
        pattern = "^({})\\.py$".format("|".join(parts))
        # With a star of our own, for without one main.py would take every test whose name contains this one's.
        excluded = [word for name in left_out for word in ("-x", f"*{name}")]
        round_ = self.job(["-i", pattern, *excluded])
        outcomes = round_.outcomes
        if END in outcomes:
            outcomes[f"{parts[-1]}.{END}"] = outcomes.pop(END)
        if round_.is_complete:
            return outcomes
        if not round_.under_way:
            # It ended before the first test or between two.
            if len(parts) > 1:
                middle = len(parts) // 2
                return self.modules(parts[:middle], left_out) | self.modules(parts[middle:], left_out)
            return {**outcomes, f"{parts[0]}.{END}": round_.how}
        culprit, alone = self.culprit(round_)
        outcomes |= alone
        # Modules before the culprit's are done on all ranks, since tests run in order.
        first = culprit.partition(".")[0]
        rest = [part for part in parts if part >= first]
        outcomes |= self.modules(rest, [*left_out, culprit])
        return outcomes

    def culprit(self, round_: Round) -> tuple[str, Outcomes]:
        """Return the test that ended a job, and its outcome: of several under way the first that does so alone too."""
        *others, last = round_.under_way
        for name in others:
            alone = self.job([name])
            if not alone.is_complete:
                return name, {name: alone.how}
        return last, {last: round_.how}
