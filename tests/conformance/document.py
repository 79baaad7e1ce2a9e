# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/inside/conformance.md from what the runs found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import mpis
from cells import NATIVE, UNDER_UNISONO, Place, ranks_text
from rows import Row, Rows
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
    "learning": "learning",
    "point_to_point": "point-to-point messages too",
    "point_to_point_all": "point-to-point messages between two nodes too",
}
# Of a part (a program, a module of tests) that has more cases which ended alike, the document says how many: tests/conformance/outcomes.json
# has them all.
CASES_LISTED = 8
# What is known of cases that fail under Unisono alone, now and then at least. They count as new all the same.
NOTES = {
    ("mpi4py", "test_spawn TestSpawnMultipleWorld.testCommSpawnDefaults2"): (
        "Under Open MPI 4 test_spawn stands still natively as well, now and then, each time in another test. This one alone, with 2 ranks, did so "
        "in one of four runs, another of which took 46 s instead of 3. Under Unisono it did in none of four. In a later run of the whole module "
        "three other tests did natively, and five under Unisono, where it was ended before the last ones."
    ),
    ("spawn", "test_spawn TestSpawnMultipleWorldMany.testCommSpawn"): (
        "As above: Open MPI 4 stands still in spawning now and then, each time in another test. With 1 and 2 ranks it did natively in 8 of 96 "
        "cases and under Unisono in 1, which natively passed."
    ),
    ("lammps", "min/in.min"): (
        "A minimisation, printed to eight digits: sums of eight ranks are added in another order than natively, and the iteration "
        "enlarges the last bit. With `--reproducible`, and with allreduce and reduce left to the MPI, all digits are the native ones. Each run "
        "of either repeats its own."
    ),
    ("scalapack", "xdsyevr (the summary)"): (
        "The program's verdicts go by what it finds on its stack. Valgrind shows branches on values that were never set, natively too. "
        "Without Unisono five and more checks fail where each MPI call leaves bytes of 0xff behind on the stack. Residuals are small in all of "
        "them. The three that fail under Unisono do so with all collectives left to the MPI as well."
    ),
    ("scalapack", "xssyevr (the summary)"): "As xdsyevr, in single precision: the same three checks.",
    ("scalapack", "xslu (the program's end)"): (
        "One run of two under Unisono, also with `--no-enable` and with all collectives left to the MPI, none where addresses are not random. "
        "`pslacon_` decides by a variable of `psgerfs_` that was never set (valgrind, natively), differently on each rank. The ranks then ask "
        "for different systems to be solved ('On entry to PSGETRS parameter number 1 had an illegal value'), and wait for each other. "
        "Without Unisono it does the same in eight runs of eight where each MPI call leaves other bytes behind on the stack of each rank."
    ),
}
VARIANTS_TEXT = "\n".join(
    f"- *{WORDS[name]}*{', on two pretended nodes' if name == 'two_level' else ''}: `{' '.join(options).replace(',', ', ')}`"
    for name, options in UNDER_UNISONO.items()
    if options
)
LEAD = f"""\
# Conformance, judged by others

<!-- Written by tests/conformance/run.py from what it ran; run it again instead of changing this. -->

Test suites and programs that others wrote run natively and under Unisono (`unisono run`), everything else the same, on
one machine:

    make conformance                                                      # all that has no outcome yet
    make conformance CONFORMANCE="--suite mpi4py --mpi openmpi5 --ranks 2,4 --again"
    make conformance CONFORMANCE=--help

It ends with status 1 where a case that passes natively fails under Unisono.
Outcomes are kept in `build/conformance/results`, what each job printed in `build/conformance/jobs`.
Everything takes hours on two cores; a run that is interrupted goes on where it was.
The rows below are kept in `tests/conformance/outcomes.json`.
A row that is found anew takes the place of a kept one as soon as it covers at least as many parts.

Numbers stand as *natively / under Unisono*.
*New* are the cases that fail under Unisono and not natively.
*Lost* are those that pass natively and are skipped or missing under Unisono.
Both should be 0.
Where ranks outnumber cores, MPICH gets the yielding preload of `tools/cluster/mpich_yield.c` on both sides.
Unisono takes each communicator's first call on and does not learn, so that as many calls as possible are its own.

Most tests make small calls on one node, which Unisono serves by few algorithms, or leaves to the MPI.
So mpi4py's suite is run in several ways: *as it decides*, with others forced, learning, and with messages carried.
Where a forced algorithm is not legal, Unisono decides after all.
Rows of all but the first stand only where they were run:

{VARIANTS_TEXT}
"""

# What MPICH's own test suite (test/mpi: coll, comm, attr, errors, init) asks of persistent collectives, errors and communicators, and the
# project's own test of the same. tests/cli/test_promises.py finds each.
OWN_TESTS = [
    ("messages of all modes and kinds of calls, probes, cancels, statuses, orders and types, by Unisono", "`test_messages.py::test_what_mpi_promises_of_messages`, `test_messages.py::test_what_mpi_promises_of_messages_between_nodes`"),
    ("random messages of all kinds, which come as natively", "`test_messages.py::test_random_messages_come_as_natively`"),
    ("wrong arguments of messages", "`test_message_traps.py::test_wrong_arguments_are_refused_as_natively`"),
    ("persistent collectives of all operations, started again and again, also by MPI_Startall", "`test_programs.py::test_persistent_calls`"),
    ("persistent collectives started in another order than they were made, with others between", "`test_programs.py::test_persistent_calls`"),
    ("collectives of neighbours on double, self and missing edges", "`test_neighbors.py::test_all_forms_on_all_graphs`"),
    ("persistent collectives of neighbours", "`test_programs.py::test_persistent_collectives_of_neighbors`"),
    ("a request that is freed while its call is under way", "`test_programs.py::test_persistent_calls`"),
    ("types, operators and communicators that are freed before a persistent or non-blocking call is over", "`test_programs.py::test_calls_that_do_not_block`, `test_programs.py::test_persistent_calls_and_objects_of_the_program`"),
    ("duplicates made aside, beside collectives of their parent", "`test_constructors.py::test_communicators_are_made_and_freed`"),
    ("communicators of groups, made by some ranks alone", "`test_constructors.py::test_communicators_are_made_and_freed`"),
    ("more communicators than there are numbers for: an error on all ranks, then new ones", "`test_constructors.py::test_communicators_are_made_and_freed`"),
    ("communicators made, used and freed by several threads", "`test_programs.py::test_threads_make_and_free_communicators`"),
    ("MPI_Comm_free with messages and collectives under way", "`test_constructors.py::test_communicators_are_made_and_freed`"),
    ("info given to the functions that make communicators", "`test_errors.py::test_hints_of_all_that_makes_communicators`"),
    ("copy and delete callbacks of attributes that fail", "`test_constructors.py::test_communicators_are_made_and_freed`, `test_errors.py::test_ends_of_communicators`"),
    ("delete callbacks at MPI_Comm_free and at MPI_Finalize, in their number", "`test_errors.py::test_ends_of_communicators`, `test_programs.py::test_persistent_calls_and_objects_of_the_program`"),
    ("persistent calls beside calls that do not block on one communicator, in either order; on MPI_COMM_SELF", "`test_programs.py::test_persistent_calls_beside_others_and_of_one_process`"),
    ("Waitall, Waitsome, Waitany and their tests where a receive is too short and a collective fails: errors of statuses, counts, indices", "`test_errors.py::test_failures_of_several_requests`"),
    ("one rank alone gives a wrong count, type or buffer: the others go on", "`test_errors.py::test_errors_as_natively`"),
    ("buffers that are the same: which ranks see an error", "`test_errors.py::test_errors_as_natively`"),
    ("wrong counts, roots, operators and types, with handlers of the program", "`test_entry.py::test_program_sees_no_difference`, `test_errors.py::test_errors_as_natively`"),
    ("operators on types that they are not defined for", "`test_operators.py::test_pairs_beyond_the_standard`"),
    ("sessions, and what goes on behind MPI_Finalize", "`test_errors.py::test_sessions_go_on_behind_finalize`"),
    ("ranks that give different lengths to one collective", "no test: such a program breaks MPI's rules (section 6.1), and MPICH alone reports it"),
    ("MPI_Abort on a part of the ranks", "no test: the launcher ends the whole job, as natively"),
]  # fmt: skip


class Document:
    """The document as text: a section for each suite, with a row for each cell under Unisono."""

    def __init__(self, rows: Rows, suites: Iterable[Suite]) -> None:
        self.rows, self.suites = rows, list(suites)

    def text(self) -> str:
        return "\n".join([LEAD, *(self._section(suite) for suite in self.suites), *_own_tests()])

    def _section(self, suite: Suite) -> str:
        cells = [
            (Place(suite.name, mpi, ranks), variant)
            for mpi in suite.mpis
            for ranks in suite.ranks(mpis.BY_NAME[mpi])
            for variant in suite.variants
            if variant != NATIVE
        ]
        run = [row for place, variant in cells if (row := self.rows.get(place, variant))]
        versions = sorted({row.versions["suite"] for row in run})
        lines = [
            f"## {suite.title}",
            "",
            suite.about,
            f"Version: {', '.join(versions) or 'not run'}.",
            "",
            "| MPI | ranks | under Unisono | parts run | cases | passed | skipped | failed | new | lost |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        # What Unisono decides is to be seen for every cell, run or not; of the forced ones those that were run.
        for place, variant in cells:
            if row := self.rows.get(place, variant):
                lines.append(_line(row))
            elif variant == "unisono":
                lines.append(
                    f"| {self._not_run(place.mpi)} | {place.ranks} | {WORDS[variant]} | not run" + " |" * 7
                )
        lines += [""]
        for row in run:
            lines += _named(row)
        return "\n".join(lines)

    def _not_run(self, mpi: str) -> str:
        return NAMES[mpi].format(self.rows.mpi_version(mpi) or mpis.version(mpis.BY_NAME[mpi]))


def _own_tests() -> list[str]:
    lines = [
        "## Persistent, error and communicator semantics of MPICH's suite, by tests of our own",
        "",
        "MPICH's suite comes in no package.",
        "What it asks of these subjects, our own tests ask on all MPIs, natively where an MPI passes and under Unisono.",
        "The [page of promises](promises.md) goes through the standard itself.",
        "Its [chapter 3](promises.md#chapter-3-messages-that-unisono-carries) has a row for each promise of messages.",
        "",
        "| what is asked | test |",
        "| --- | --- |",
    ]
    return [*lines, *(f"| {asked} | {test} |" for asked, test in OWN_TESTS), ""]


def _mpi(row: Row) -> str:
    return NAMES[row.mpi].format(row.versions["mpi"])


def _line(row: Row) -> str:
    run = "all" if row.parts == row.all_parts else f"{row.parts} of {row.all_parts}"
    both = [" / ".join(map(str, counts)) for counts in (row.passed, row.skipped, row.failed)]
    words = [_mpi(row), row.ranks, WORDS[row.variant], run, row.cases, *both, len(row.new), len(row.lost)]
    return f"| {' | '.join(map(str, words))} |"


def _listed(cases: Mapping[str, str]) -> Iterator[str]:
    """Each case and how it ended both ways; of many that ended alike in one part, or under one name, only how many."""
    alike = defaultdict(list)
    for case, how in cases.items():
        alike[case.split(" ")[0], how].append(case)
    named = defaultdict(list)
    for (part, how), members in alike.items():
        if len(members) > CASES_LISTED:
            yield f"{len(members)} cases of `{part}` ({how})"
            continue
        for case in members:
            named[case.partition(" ")[2], how].append(case)
    for (name, how), members in named.items():
        if len(members) > CASES_LISTED:
            yield f"`{name}` in {len(members)} parts ({how})"
        else:
            yield from (f"`{case}` ({how})" for case in members)


def _named(row: Row) -> Iterator[str]:
    named = (
        ("New failures", row.new),
        ("Lost", row.lost),
        ("Failed both natively and under Unisono", row.both),
        ("Failed natively only", row.only_native),
    )
    for title, cases in named:
        if cases:
            yield f"- {title}, {_mpi(row)}, {ranks_text(row.ranks)}, {WORDS[row.variant]}:"
            yield from (f"  - {case}" for case in _listed(cases))
            yield ""
    # Of a case, or of the part that it belongs to.
    for known in dict.fromkeys(name for case in row.new for name in (case, case.split(" ")[0])):
        if note := NOTES.get((row.suite, known)):
            yield f"  `{known}`: {note}"
            yield ""
