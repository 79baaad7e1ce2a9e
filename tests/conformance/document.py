# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/conformance.md from what the runs found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import mpis
from cells import BAD, PASSED, SKIPPED, VARIANTS, Comparison, Place, Store
from suite import Suite

NAMES = {
    "openmpi4": "Open MPI {} (Debian)",
    "openmpi5": "Open MPI {}",
    "mpich4": "MPICH {} (Debian)",
    "mpich5": "MPICH {}",
    "intel": "Intel MPI {}",
}
LEAD = """\
# Conformance, judged by others

<!-- Written by tests/conformance/run.py from what it ran; run it again instead of changing this. -->

Test suites and programs that others wrote, run natively and under Unisono (`unisono run`), everything else the same, on one machine:

    make conformance                                                      # all that has no outcome yet
    make conformance CONFORMANCE="--suite mpi4py --mpi openmpi5 --ranks 2,4 --again"
    make conformance CONFORMANCE=--help

It ends with status 1 where a case that passes natively fails under Unisono. Outcomes are kept in `build/conformance/results`, what each job printed in
`build/conformance/jobs`. Everything takes hours on two cores; a run that is interrupted goes on where it was.

*New* are the cases that fail under Unisono and not natively, *lost* those that pass natively and are skipped or missing under Unisono: both should be 0.
Where ranks outnumber cores, MPICH gets the yielding preload of `tools/cluster/mpich_yield.c` in both columns.
"""


class Document:
    """The document as text: a section for each suite, with a row for each cell."""

    def __init__(self, store: Store, suites: Iterable[Suite]) -> None:
        self.store, self.suites = store, list(suites)

    def text(self) -> str:
        return "\n".join([LEAD, *(self._section(suite) for suite in self.suites)])

    def _section(self, suite: Suite) -> str:
        versions = sorted(
            {
                version
                for mpi in suite.mpis
                for ranks in suite.ranks(mpis.BY_NAME[mpi])
                for variant in VARIANTS
                if (version := self._cell_version(Place(suite.name, mpi, ranks), variant, "suite"))
            }
        )
        lines = [f"## {suite.title}", "", suite.about, f"Version: {', '.join(versions) or 'not run'}.", ""]
        lines += [
            "| MPI | ranks | parts run | cases | passed natively | under Unisono | skipped natively | under Unisono "
            "| failed natively | under Unisono | new | lost |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        places = [
            Place(suite.name, mpi, ranks) for mpi in suite.mpis for ranks in suite.ranks(mpis.BY_NAME[mpi])
        ]
        lines += [self._row(suite, place) for place in places]
        lines += [""]
        for place in places:
            lines += self._named(place)
        return "\n".join(lines)

    def _cell_version(self, place: Place, variant: str, what: str) -> str:
        return self.store.load(place, variant).versions.get(what, "")

    def _mpi(self, place: Place) -> str:
        version = self._cell_version(place, "native", "mpi") or mpis.version(mpis.BY_NAME[place.mpi])
        return NAMES[place.mpi].format(version)

    def _row(self, suite: Suite, place: Place) -> str:
        comparison, parts = self.store.compare(place)
        all_parts = len(suite.parts(mpis.BY_NAME[place.mpi]))
        if not parts:
            return f"| {self._mpi(place)} | {place.ranks} | not run" + " |" * 10
        counts = [
            comparison.count(variant, outcomes)
            for outcomes in (frozenset((PASSED,)), frozenset((SKIPPED,)), BAD)
            for variant in VARIANTS
        ]
        run = "all" if len(parts) == all_parts else f"{len(parts)} of {all_parts}"
        cells = [
            self._mpi(place),
            place.ranks,
            run,
            len(comparison.native.keys() | comparison.unisono.keys()),
        ]
        cells += [*counts, len(comparison.new_failures), len(comparison.lost)]
        return f"| {' | '.join(map(str, cells))} |"

    def _named(self, place: Place) -> Iterator[str]:
        comparison, _ = self.store.compare(place)
        named = (
            ("New failures", comparison.new_failures),
            ("Lost", comparison.lost),
            ("Failed both natively and under Unisono", comparison.both_fail),
            ("Failed natively only", comparison.only_native_fails),
        )
        for title, cases in named:
            if cases:
                listed = ", ".join(
                    f"`{case}` ({self._how(place, case, comparison)})" for case in sorted(cases)
                )
                yield f"- {title}, {self._mpi(place)}, {place.ranks} ranks (natively / under Unisono): {listed}"
                yield ""

    def _how(self, place: Place, case: str, comparison: Comparison) -> str:
        words = []
        for variant in VARIANTS:
            cell = self.store.load(place, variant)
            outcome = getattr(comparison, variant).get(case, "not there")
            runs = cell.runs.get(case.split(" ", maxsplit=1)[0], 1)
            bad = cell.bad_runs.get(case, 0)
            words.append(f"{outcome} in {bad} of {runs} runs" if bad > 0 and runs > 1 else outcome)
        return " / ".join(words)
