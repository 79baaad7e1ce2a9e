# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/conformance.md from what the runs found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import mpis
from cells import BAD, FORCED, NATIVE, PASSED, SKIPPED, Place, Store
from suite import Suite

NAMES = {
    "openmpi4": "Open MPI {} (Debian)",
    "openmpi5": "Open MPI {}",
    "mpich4": "MPICH {} (Debian)",
    "mpich5": "MPICH {}",
    "intel": "Intel MPI {}",
}
WORDS = {
    "unisono": "as it decides",
    "messages": "messages",
    "shared": "shared memory",
    "two_level": "two levels",
}
# What is known of cases that fail under Unisono alone, now and then at least. They count as new all the same.
NOTES = {
    ("mpi4py", "test_ulfm TestULFMWorld.testIAgree"): (
        "The MPI has no MPI_Comm_iagree, so that mpi4py makes an MPI_Iallreduce of it; the test has one rank begin it before a barrier on the same "
        "communicator, the other behind it. MPI wants all ranks to make the collectives of a communicator in one order; under Unisono a "
        "blocking call waits for those under way before it."
    ),
    ("lammps", "min/in.min"): (
        "A minimisation, printed to eight digits: sums of eight ranks are added in another order than natively, and the iteration "
        "enlarges the last bit. With `--reproducible`, and with allreduce and reduce left to the MPI, all digits are the native ones; each run "
        "of either repeats its own."
    ),
}
FORCED_TEXT = "\n".join(
    f"- *{WORDS[name]}*{', on two pretended nodes' if name == 'two_level' else ''}: `{algorithms.replace(',', ', ')}`"
    for name, algorithms in FORCED.items()
    if algorithms
)
LEAD = f"""\
# Conformance, judged by others

<!-- Written by tests/conformance/run.py from what it ran; run it again instead of changing this. -->

Test suites and programs that others wrote, run natively and under Unisono (`unisono run`), everything else the same, on one machine:

    make conformance                                                      # all that has no outcome yet
    make conformance CONFORMANCE="--suite mpi4py --mpi openmpi5 --ranks 2,4 --again"
    make conformance CONFORMANCE=--help

It ends with status 1 where a case that passes natively fails under Unisono. Outcomes are kept in `build/conformance/results`, what each job printed in
`build/conformance/jobs`. Everything takes hours on two cores; a run that is interrupted goes on where it was.

Numbers stand as *natively / under Unisono*. *New* are the cases that fail under Unisono and not natively, *lost* those that pass natively and are skipped or missing under Unisono: both should be 0.
Where ranks outnumber cores, MPICH gets the yielding preload of `tools/cluster/mpich_yield.c` on both sides.

Most tests make small calls on one node, which Unisono serves by few algorithms, or leaves to the MPI. So mpi4py's suite is run in four ways: *as it decides*, and with others forced (where
one is not legal Unisono decides after all); rows of the latter stand only where they were run:

{FORCED_TEXT}
"""


class Document:
    """The document as text: a section for each suite, with a row for each cell under Unisono."""

    def __init__(self, store: Store, suites: Iterable[Suite]) -> None:
        self.store, self.suites = store, list(suites)

    def text(self) -> str:
        return "\n".join([LEAD, *(self._section(suite) for suite in self.suites)])

    def _section(self, suite: Suite) -> str:
        places = [
            Place(suite.name, mpi, ranks) for mpi in suite.mpis for ranks in suite.ranks(mpis.BY_NAME[mpi])
        ]
        compared = [(place, variant) for place in places for variant in suite.variants if variant != NATIVE]
        versions = {self._version(place, variant, "suite") for place, variant in compared} - {""}
        lines = [
            f"## {suite.title}",
            "",
            suite.about,
            f"Version: {', '.join(sorted(versions)) or 'not run'}.",
            "",
        ]
        lines += [
            "| MPI | ranks | under Unisono | parts run | cases | passed | skipped | failed | new | lost |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        # What Unisono decides is to be seen for every cell, run or not; of the forced ones those that were run.
        lines += [
            self._row(suite, place, variant)
            for place, variant in compared
            if not FORCED[variant] or self.store.compare(place, variant)[1]
        ]
        lines += [""]
        for place, variant in compared:
            lines += self._named(place, variant)
        return "\n".join(lines)

    def _version(self, place: Place, variant: str, what: str) -> str:
        return self.store.load(place, variant).versions.get(what, "")

    def _mpi(self, place: Place) -> str:
        version = self._version(place, NATIVE, "mpi") or mpis.version(mpis.BY_NAME[place.mpi])
        return NAMES[place.mpi].format(version)

    def _row(self, suite: Suite, place: Place, variant: str) -> str:
        comparison, parts = self.store.compare(place, variant)
        all_parts = len(suite.parts(mpis.BY_NAME[place.mpi]))
        begin = [self._mpi(place), place.ranks, WORDS[variant]]
        if not parts:
            return f"| {' | '.join(map(str, begin))} | not run" + " |" * 7
        run = "all" if len(parts) == all_parts else f"{len(parts)} of {all_parts}"
        cells = [*begin, run, len(comparison.native.keys() | comparison.unisono.keys())]
        for outcomes in (frozenset((PASSED,)), frozenset((SKIPPED,)), BAD):
            cells.append(" / ".join(map(str, comparison.counts(outcomes))))
        cells += [len(comparison.new_failures), len(comparison.lost)]
        return f"| {' | '.join(map(str, cells))} |"

    def _named(self, place: Place, variant: str) -> Iterator[str]:
        comparison, _ = self.store.compare(place, variant)
        named = (
            ("New failures", comparison.new_failures),
            ("Lost", comparison.lost),
            ("Failed both natively and under Unisono", comparison.both_fail),
            ("Failed natively only", comparison.only_native_fails),
        )
        for title, cases in named:
            if cases:
                listed = ", ".join(
                    f"`{case}` ({self._how(place, NATIVE, case)} / {self._how(place, variant, case)})"
                    for case in sorted(cases)
                )
                yield f"- {title}, {self._mpi(place)}, {place.ranks} ranks, {WORDS[variant]}: {listed}"
                yield ""
        new = sorted(comparison.new_failures)
        # Of a case, or of the part that it belongs to.
        for known in dict.fromkeys(name for case in new for name in (case, case.split(" ")[0])):
            if note := NOTES.get((place.suite, known)):
                yield f"  `{known}`: {note}"
                yield ""

    def _how(self, place: Place, variant: str, case: str) -> str:
        cell = self.store.load(place, variant)
        part, _, name = case.partition(" ")
        outcome = cell.parts[part].get(name, "not there")
        runs, bad = cell.runs.get(part, 1), cell.bad_runs.get(case, 0)
        return f"{outcome} in {bad} of {runs} runs" if bad > 0 and runs > 1 else outcome
