# SPDX-License-Identifier: BSD-3-Clause
"""Heat conduction with mpi4py and numpy: a program that does real work in collectives and checks itself.

    mpirun -n 4 python heat.py --steps 500 --json result.json

Exit code: 0 all checks passed, 1 a check failed, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from typing import Any

import numpy as np
from collectives import Collectives
from mpi4py import MPI
from solver import HeatSolver

# The error of a scheme of second order is a multiple of h^2 + dt^2: 0.3 times that at the defaults.
# The waves are about 1 high.
SCALED_ERROR_LIMIT = 0.6
ERROR_LIMIT = 0.05
HEAT_BALANCE_LIMIT = 1e-9  # relative; what the conjugate gradients leave is far below
QUANTITY_TOLERANCE = 1e-9  # another order of summation may change the solution by the solver's tolerance


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="heat.py",
        description="Heat in an uneven material on a periodic square: finite volumes, Crank-Nicolson,"
        " conjugate gradients preconditioned by an FFT (MPI_Alltoall for the transposes, MPI_Allreduce for"
        " the dot products), checked against the exact solution.",
        epilog="exit code: 0 all checks passed, 1 a check failed, 2 wrong usage",
    )
    parser.add_argument(
        "--cells", type=int, default=64, metavar="N", help="grid of N x N cells (%(default)s)"
    )
    parser.add_argument("--steps", type=int, default=500, metavar="N", help="time steps (%(default)s)")
    parser.add_argument(
        "--time-step", type=float, default=0.02, metavar="T", help="length of a step (%(default)s)"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=1e-12,
        metavar="R",
        help="relative residual of each solve (%(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="also write the result for programs to read")
    parser.add_argument("--field", metavar="FILE", help="also write the final temperature (.npy)")
    parser.add_argument("--quiet", action="store_true", help="print only failed checks")
    options = parser.parse_args()
    if options.cells < 4 or options.cells % 2 != 0:
        parser.error("--cells: an even number, at least 4")
    if options.cells < MPI.COMM_WORLD.Get_size():
        parser.error("--cells: at least as many as ranks, so that each gets a row")
    if options.steps < 1:
        parser.error("--steps: at least 1")
    if not (0.0 < options.time_step < math.inf):
        parser.error("--time-step: above 0")
    if not (0.0 < options.tolerance < 1.0):
        parser.error("--tolerance: between 0 and 1")
    return options


def agreed_arguments(comm: MPI.Comm) -> argparse.Namespace:
    """Rank 0 reads the command line (and alone speaks about it); all take its word."""
    options: argparse.Namespace | int = 0
    if comm.Get_rank() == 0:
        try:
            options = parse_arguments()
        except SystemExit as ending:
            options = ending.code if isinstance(ending.code, int) else 2
    options = comm.bcast(options, root=0)
    if isinstance(options, int):
        sys.exit(options)
    return options


def simulate(options: argparse.Namespace, collectives: Collectives) -> dict[str, Any]:
    """The whole run. The result is complete on rank 0; its checks are the same everywhere."""
    collectives.comm.Barrier()
    start_s = MPI.Wtime()
    solver = HeatSolver(collectives, options.cells, options.time_step, options.tolerance)
    heat, given, square = solver.totals()
    initial_heat, received, largest_error = heat, 0.0, 0.0
    for _ in range(options.steps):
        solver.step()
        given_before = given
        heat, given, square = solver.totals()
        received += 0.5 * options.time_step * (given_before + given)
        largest_error = max(largest_error, solver.largest_error())
    field = solver.whole_temperature()
    elapsed_s = MPI.Wtime() - start_s
    if field is not None and options.field:
        np.save(options.field, field)
    error_limit = min(ERROR_LIMIT, SCALED_ERROR_LIMIT * (solver.width**2 + options.time_step**2))
    checks = [
        ("distance from the exact solution", largest_error, error_limit),
        ("heat balance (relative)", abs(heat - initial_heat - received) / abs(heat), HEAT_BALANCE_LIMIT),
    ]
    quantities = [("total heat", heat), ("mean square temperature", square), ("largest error", largest_error)]
    total_s, operations = collectives.longest_times()
    return {
        "program": "heat",
        "mpi": MPI.Get_library_version().split("\n")[0].split(",")[0].rstrip("\0").replace("\t", " "),
        "ranks": collectives.size,
        "steps": options.steps,
        "problem": {
            "cells": options.cells,
            "time_step": options.time_step,
            "tolerance": options.tolerance,
            "iterations_per_step": solver.iterations / options.steps,
        },
        "quantities": [
            {"name": name, "value": value, "tolerance": QUANTITY_TOLERANCE} for name, value in quantities
        ],
        "digests": [],
        "checks": [
            {"name": name, "value": value, "limit": limit, "is_passed": bool(value <= limit)}
            for name, value, limit in checks
        ],
        "elapsed_s": elapsed_s,
        "collectives_s": total_s,
        "collectives": operations,
    }


def print_result(result: dict[str, Any]) -> None:
    size = result["problem"]["cells"]
    print(f"heat: {size} x {size} cells, {result['steps']} steps, {result['ranks']} ranks, {result['mpi']}")
    for quantity in result["quantities"]:
        print(f"  {quantity['name']:<32} {quantity['value']: .15g}")
    print(f"  {'iterations per step':<32} {result['problem']['iterations_per_step']: .2f}")
    print("checks")
    for check in result["checks"]:
        verdict = "passed" if check["is_passed"] else "FAILED"
        print(f"  {check['name']:<32}  {check['value']:.2e}  (limit {check['limit']:.1e})  {verdict}")
    elapsed_s, collectives_s = result["elapsed_s"], result["collectives_s"]
    print(f"time: {elapsed_s:.3f} s, of it in collectives {collectives_s:.3f} s (longest rank)")
    for time in result["collectives"]:
        print(
            f"  {time['operation']:<10} {time['purpose']:<24} {time['calls']:9d} calls"
            f" of {time['bytes_per_call']:6d} bytes  {time['time_s']:.3f} s"
        )


def without_infinities(value: Any) -> Any:
    """JSON knows no infinity and no NaN."""
    if isinstance(value, dict):
        return {key: without_infinities(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_infinities(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path: str, result: dict[str, Any]) -> None:
    """Written whole and renamed."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(without_infinities(result), file, indent=2, allow_nan=False)
        file.write("\n")
    os.replace(path + ".part", path)


def main() -> int:
    collectives = Collectives(MPI.COMM_WORLD)
    options = agreed_arguments(MPI.COMM_WORLD)
    result = simulate(options, collectives)
    if collectives.rank == 0:
        if not options.quiet:
            print_result(result)
        if options.json:
            write_json(options.json, result)
        for check in result["checks"]:
            if not check["is_passed"]:
                excess = f"{check['value']:.3e}, limit {check['limit']:.1e}"
                print(f"heat: check failed: {check['name']} is {excess}", file=sys.stderr)
    return 0 if all(check["is_passed"] for check in result["checks"]) else 1


if __name__ == "__main__":
    try:
        code = main()
    except (ArithmeticError, OSError) as error:
        print(f"heat: rank {MPI.COMM_WORLD.Get_rank()}: {error}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1 if isinstance(error, ArithmeticError) else 2)
    sys.exit(code)
