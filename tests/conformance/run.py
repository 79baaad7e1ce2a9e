#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Others' test suites judge Unisono: runs them natively and under it, and writes both outcomes side by side.

    make conformance                                          everything, into docs/inside/conformance.md
    make conformance CONFORMANCE="--suite mpi4py --mpi openmpi5 --ranks 2,4"
    make conformance CONFORMANCE="--suite matrix"             every algorithm of the registry, forced

Outcomes are kept in build/conformance, by part (a module of tests, a program). What is there is not run
again, so that a run that was interrupted goes on where it was. The document's rows are kept in
tests/conformance/outcomes.json. The row that the outcomes make takes the place of a kept one once it covers
at least as many parts. Until then the kept one stands; to forget one, remove its line. A document elsewhere
leaves the kept rows as they are. What was never run is shown as not run. The status at the end is 1 where a
case that passes natively fails under Unisono. It is 2 where a choice names nothing that there is.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/conformance", "tests/integration", "python")]

import again  # noqa: E402
import mpis  # noqa: E402
from cells import BAD, NATIVE, UNDER_UNISONO, Outcomes, Place, Store  # noqa: E402
from document import Document  # noqa: E402
from jobs import Jobs  # noqa: E402
from lists import AddUp  # noqa: E402
from mpis import Mpi  # noqa: E402
from registry import SUITES  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: E402
from rows import Rows, found  # noqa: E402
from suite import Suite  # noqa: E402

BUILD = ROOT / "build/conformance"
DOCUMENT = ROOT / "docs/inside/conformance.md"
ROWS = ROOT / "tests/conformance/outcomes.json"
# A run of all suites is thousands of jobs.
MOST_RUN_AGAIN = 20


@dataclass(frozen=True)
class Work:
    """One job's worth: some parts of a cell."""

    suite: Suite
    mpi: Mpi
    place: Place
    variant: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        named = self.parts[0] if len(self.parts) == 1 else f"{self.parts[0]} ... {self.parts[-1]}"
        return f"{self.place}, {self.variant}: {named}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def names(text: str) -> list[str]:
        return text.split(",")

    def numbers(text: str) -> list[int]:
        return [int(word) for word in text.split(",")]

    parser.add_argument(
        "--suite", action=AddUp, type=names, default=list(SUITES), help=f"of {', '.join(SUITES)}"
    )
    parser.add_argument(
        "--mpi", action=AddUp, type=names, default=list(mpis.BY_NAME), help=f"of {', '.join(mpis.BY_NAME)}"
    )
    parser.add_argument(
        "--ranks", action=AddUp, type=numbers, default=[], help="only with these numbers of ranks"
    )
    parser.add_argument(
        "--variant",
        action=AddUp,
        type=names,
        default=[NATIVE, *UNDER_UNISONO],
        help=f"of {', '.join([NATIVE, *UNDER_UNISONO])}",
    )
    parser.add_argument("--part", default="", metavar="REGEX", help="only parts whose name has a match")
    parser.add_argument("--again", action="store_true", help="run also what has an outcome already")
    parser.add_argument(
        "--again-new",
        action="store_true",
        help="run once more, natively and under Unisono, what has new failures",
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no more jobs after this time")
    parser.add_argument(
        "--write-only", action="store_true", help="run nothing, write the rows and the document"
    )
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="where the document goes")
    arguments = parser.parse_args()
    lists = (
        (arguments.suite, SUITES),
        (arguments.mpi, mpis.BY_NAME),
        (arguments.variant, [NATIVE, *UNDER_UNISONO]),
    )
    for chosen, known in lists:
        for name in chosen:
            if name not in known:
                parser.error(f"{name} is not one of {', '.join(known)}")
    chosen = list(cells(arguments))
    if not chosen:
        parser.error("no suite runs on such MPIs with so many ranks")
    if not any(variant in suite.variants for suite, _, _ in chosen for variant in arguments.variant):
        parser.error(f"these suites have no variant {' or '.join(arguments.variant)}")
    if arguments.part and not any(
        re.search(arguments.part, part) for suite, mpi, _ in chosen for part in suite.parts(mpi)
    ):
        parser.error(f"no part matches {arguments.part}")
    return arguments


def cells(arguments: argparse.Namespace) -> Iterator[tuple[Suite, Mpi, Place]]:
    """Return the chosen cells: all MPIs with few ranks first."""
    chosen = []
    for name in arguments.suite:
        suite = SUITES[name]
        for mpi in (mpis.BY_NAME[name] for name in suite.mpis if name in arguments.mpi):
            for ranks in suite.ranks(mpi):
                if not arguments.ranks or ranks in arguments.ranks:
                    chosen.append((suite, mpi, Place(suite.name, mpi.name, ranks)))
    return iter(sorted(chosen, key=lambda cell: cell[2].ranks))


def work_to_do(arguments: argparse.Namespace, store: Store) -> list[Work]:
    work = []
    for suite, mpi, place in cells(arguments):
        wanted = [part for part in suite.parts(mpi) if re.search(arguments.part, part)]
        variants = [variant for variant in suite.variants if variant in arguments.variant]
        known = {variant: store.load(place, variant).parts.keys() for variant in variants}
        new = {
            case.split(" ")[0]
            for variant in variants
            for case in store.compare(place, variant)[0].new_failures
        }
        for start in range(0, len(wanted), suite.parts_per_job):
            group = wanted[start : start + suite.parts_per_job]
            for variant in variants:
                parts = group
                if arguments.again_new:
                    parts = [part for part in group if part in new]
                elif not arguments.again:
                    parts = [part for part in group if part not in known[variant]]
                if parts:
                    work.append(Work(suite, mpi, place, variant, tuple(parts)))
    return work


def perform(work: Work, jobs: Jobs, store: Store, is_repeat: bool) -> Outcomes:
    """Run one piece of work and keep its outcomes; what its jobs wrote stays below build/conformance/jobs."""
    place = work.place
    directory = BUILD / "jobs" / f"{place.suite}-{place.mpi}-{place.ranks}-{work.variant}-{work.parts[0]}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    begin = time.monotonic()
    outcomes = work.suite.run(jobs, work.mpi, place.ranks, work.variant, work.parts, directory)
    versions = {"suite": work.suite.version(), "mpi": mpis.version(work.mpi)}
    store.add(place, work.variant, outcomes, time.monotonic() - begin, versions, is_repeat)
    return {f"{part} {case}": outcome for part, cases in outcomes.items() for case, outcome in cases.items()}


def run_all(arguments: argparse.Namespace, jobs: Jobs, store: Store, console: Console) -> bool:
    """Run what is to be run; return whether all of it was."""
    todo = work_to_do(arguments, store)
    deadline = time.monotonic() + 60 * arguments.minutes
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(todo))
        for work in todo:
            if time.monotonic() > deadline:
                return False
            progress.update(task, description=str(work))
            begin = time.monotonic()
            outcomes = perform(work, jobs, store, arguments.again_new)
            bad = [case for case, outcome in outcomes.items() if outcome in BAD]
            line = f"{work}: {len(outcomes)} cases, {len(bad)} bad, {time.monotonic() - begin:.0f} s"
            progress.console.print(line, highlight=False)
            progress.advance(task)
    return True


def summarise(arguments: argparse.Namespace, store: Store, console: Console) -> int:
    """Print a line for each cell; return how many failures are new."""
    total = 0
    for suite, _, place in cells(arguments):
        for variant in suite.variants:
            comparison, parts = store.compare(place, variant)
            if variant == NATIVE or not parts:
                continue
            new = comparison.new_failures
            total += len(new)
            native_bad, unisono_bad = comparison.counts(BAD)
            console.print(
                f"{place}, {variant}: {len(comparison.unisono)} cases, {native_bad} fail natively, "
                f"{unisono_bad} under Unisono, new: {len(new)}",
                highlight=False,
            )
            for case, outcome in new.items():
                console.print(f"  {case}: {outcome}", highlight=False)
    return total


def keep(arguments: argparse.Namespace, store: Store) -> Rows:
    """Put the rows of the chosen cells among the kept ones, which are written with the document itself; return those."""
    rows = Rows(ROWS)
    for suite, mpi, place in cells(arguments):
        for variant in suite.variants:
            if variant != NATIVE and store.compare(place, variant)[1]:
                rows.merge(found(store, place, variant, len(suite.parts(mpi))))
    if arguments.document.resolve() == DOCUMENT:
        rows.write()
    return rows


def main() -> int:
    arguments = parse()
    console = Console(stderr=True, soft_wrap=True)
    store = Store(BUILD / "results")
    is_finished = True
    if not arguments.write_only:
        jobs = Jobs(again.RunAgain(MOST_RUN_AGAIN))
        is_finished = run_all(arguments, jobs, store, console)
        console.print(again.text(jobs.again.counts), highlight=False)
    new_failures = summarise(arguments, store, console)
    rows = keep(arguments, store)
    arguments.document.write_text(Document(rows, SUITES.values()).text(), encoding="utf-8")
    console.print(f"{arguments.document} is written" + ("" if is_finished else "; more is left to run"))
    return 1 if new_failures else 0


if __name__ == "__main__":
    # The job that is under way ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
