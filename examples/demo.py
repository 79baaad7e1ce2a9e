# SPDX-License-Identifier: BSD-3-Clause
"""The demo: real programs natively and under Unisono on a real MPI, their results compared.

    make demo                                        sets everything up, then runs this
    .venv/bin/python examples/demo.py --mpi mpich    on another MPI

Exit code: 0 all went well and the results are the same; 1 results differ or a run failed; 2 something is missing.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

try:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
    from unisono.common import files, places, printing
    from unisono.common.errors import UnisonoError
    from unisono.page import build, sources
    from unisono.reporting import report
except ImportError as missing:
    sys.exit(
        f"demo: {missing}; run it with the project's Python: `make setup`, then .venv/bin/python examples/demo.py"
    )

from demonstration import comparison, mpi, presentation, programs
from demonstration.errors import EXIT_FAILED, EXIT_MISSING, DemoError
from demonstration.presentation import Finding, Setting
from demonstration.programs import Program, Run, Workshop

_PROBE_TIMEOUT_S = 300.0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="demo.py",
        description="Runs real programs natively and under Unisono in turn, compares their results and the time they spend"
        " in collectives, and says which algorithm was used for what, and why.",
        epilog="exit code: 0 all went well and the results are the same; 1 results differ or a run failed;"
        " 2 something is missing",
    )
    parser.add_argument(
        "--mpi",
        metavar="NAME|PATH",
        help="openmpi, mpich or intel, with a major version if there are several (mpich5); or a launcher; or a folder"
        " that holds bin/mpirun (default: the first in PATH, or else a wheel in the project's environment)",
    )
    parser.add_argument("--ranks", type=int, default=4, metavar="N", help="ranks of each run (%(default)s)")
    parser.add_argument("--repeat", type=int, default=5, metavar="K", help="runs of each kind (%(default)s)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=2.5,
        metavar="S",
        help="choose the number of steps so that a native run takes about this long (%(default)s)",
    )
    parser.add_argument(
        "--reports",
        type=Path,
        default=mpi.ROOT / "reports",
        metavar="FOLDER",
        help="where the reports go (reports/ of the project)",
    )
    parser.add_argument(
        "--program",
        action="append",
        choices=[program.name for program in programs.ALL],
        help="only this program; may be given more than once",
    )
    options = parser.parse_args()
    for name, is_right, demand in (
        ("ranks", 1 <= options.ranks <= 64, "from 1 to 64"),
        ("repeat", options.repeat >= 1, "at least 1"),
        ("seconds", 0.0 < options.seconds < 3600.0, "above 0, below 3600"),
    ):
        if not is_right:
            parser.error(f"--{name}: {demand}")
    return options


def missing_parts() -> str | None:
    """What of Unisono is not built, and what to do; None if all is there."""
    try:
        for part in ("shim", "library"):
            places.require(part)
    except UnisonoError as error:
        return error.message
    return None


def require_tool() -> None:
    """It knows the launchers: without it no program starts."""
    try:
        places.require("tool")
    except UnisonoError as error:
        raise DemoError(error.message, EXIT_MISSING) from error


def shown(file: Path) -> str:
    """A path as short as it can be."""
    file = file.absolute()
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


def fitting_steps(program: Program, probe: Run, wanted_s: float) -> int:
    """Steps that take about that long, rounded to two digits."""
    per_step_s = probe.result["elapsed_s"] / probe.result["steps"]
    steps = max(1.0, min(program.most_steps, wanted_s / per_step_s))
    digits = 10 ** max(0, math.floor(math.log10(steps)) - 1)
    return int(steps) // digits * digits


class Demo:
    """All runs of all programs on one MPI."""

    def __init__(
        self, options: argparse.Namespace, workshop: Workshop, is_with_unisono: bool, console: Console
    ) -> None:
        self._options, self._workshop, self._console = options, workshop, console
        self._is_with_unisono = is_with_unisono
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f} of {task.total:.0f} runs"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    def measure(self, program: Program) -> Finding:
        kinds = 2 if self._is_with_unisono else 1
        if not self._console.is_terminal:
            self._console.print(f"running {program.name} ...")
        with self._progress:
            task = self._progress.add_task(program.name, total=2 + kinds * self._options.repeat)
            try:
                return self._measure(program, task)
            finally:
                self._progress.remove_task(task)

    def _measure(self, program: Program, task: TaskID) -> Finding:
        def run(kind: str, steps: int, timeout_s: float, before: Sequence[str] = ()) -> Run:
            self._progress.update(task, description=f"{program.name}: {kind}")
            done = self._workshop.run(program, self._options.ranks, steps, timeout_s, before)
            self._progress.advance(task)
            return done

        def probing(steps: int) -> Run:
            return run("estimating the time of a step", steps, _PROBE_TIMEOUT_S)

        # MPIs differ a thousandfold where ranks share cores, so the steps are chosen to fit. A short run overestimates
        # the time of a step: a longer one follows where there is time.
        probe, wanted_s = probing(program.probe_steps), self._options.seconds
        if probe.result["elapsed_s"] < 0.1 * wanted_s:
            probe = probing(fitting_steps(program, probe, 0.2 * wanted_s))
        steps = fitting_steps(program, probe, wanted_s)
        timeout_s = max(60.0, 20.0 * self._options.seconds)
        report_file = self._options.reports / f"demo-{program.name}.json"
        report_file.unlink(missing_ok=True)
        # What earlier runs of the demo have learned is forgotten; each run here goes on from the ones before.
        learned = self._options.reports / "learned"
        shutil.rmtree(learned, ignore_errors=True)
        under_unisono = [sys.executable, "-m", "unisono", "run", "--cache", str(learned)]
        under_unisono += ["--report", str(report_file), "--"]
        native, unisono = [], []
        for number in range(1, self._options.repeat + 1):
            native.append(run(f"native run {number}", steps, timeout_s))
            if self._is_with_unisono:
                unisono.append(run(f"run {number} under Unisono", steps, timeout_s, under_unisono))
        pairs = [[(done.result, done.job_s) for done in runs] for runs in (native, unisono)]
        return Finding(
            program,
            steps,
            [done.result for done in native],
            comparison.compare([done.result for done in native], [done.result for done in unisono])
            if unisono
            else None,
            comparison.all_times(*pairs),
            self._load_report(report_file) if unisono else None,
            report_file if unisono else None,
        )

    @staticmethod
    def _load_report(file: Path) -> dict[str, Any]:
        """The report is also the proof that Unisono was in the program."""
        if not file.exists():
            raise DemoError(
                f"the runs under Unisono left no report {file}: it was not loaded into the program"
            )
        try:
            return report.load(file)
        except UnisonoError as error:
            raise DemoError(error.message) from error


def run_demo(options: argparse.Namespace, console: Console) -> int:
    require_tool()
    installation = mpi.find(options.mpi)
    setting = Setting(installation, options.ranks, options.repeat)
    for sentence in setting.sentences():
        console.print(escape(sentence))
    missing = missing_parts()
    if missing:
        console.print(f"\n[warning]{escape(missing)}\nUntil then the programs run natively only.[/warning]")
    workshop = Workshop(installation)
    with console.status(f"compiling examples/nbody with {installation.compiler}"):
        workshop.build()
    console.print()
    options.reports.mkdir(parents=True, exist_ok=True)
    demo = Demo(options, workshop, missing is None, console)
    findings, failures = [], []
    for program in programs.ALL:
        if options.program and program.name not in options.program:
            continue
        try:
            finding = demo.measure(program)
        except DemoError as error:
            if error.exit_code == EXIT_MISSING:
                raise
            console.print(f"[bad]{program.name} failed:[/bad] {escape(str(error))}\n")
            failures.append((program, str(error)))
            continue
        presentation.print_finding(finding, console)
        findings.append(finding)
    summary = options.reports / "demo.md"
    when = time.strftime("%Y-%m-%d %H:%M")
    files.write_whole(summary, presentation.markdown(setting, findings, failures, when))
    reports = [finding.report_file for finding in findings if finding.report_file]
    pages = [options.reports / "demo.html"] if reports else []
    for page in pages:
        build.write(page, [sources.load(file) for file in reports])
    for file in [*reports, summary, *pages]:
        console.print(f"report: {escape(shown(file))}")
    if failures or not all(finding.is_good for finding in findings):
        return EXIT_FAILED
    return EXIT_MISSING if missing else 0


def main() -> int:
    options = parse_arguments()
    try:
        return run_demo(options, printing.console())
    except (DemoError, UnisonoError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
