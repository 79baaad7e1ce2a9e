# SPDX-License-Identifier: BSD-3-Clause
"""Which operations are measured at which sizes, of those that a command line names. What cannot be measured
is refused, or is left out and said to be. That happens before a job is started."""

from __future__ import annotations

from collections.abc import Sequence

from unisono.common import printing, units
from unisono.common.errors import UsageError
from unisono.common.operations import REDUCTIONS

MOST_BYTES = (1 << 31) - 1  # that the count of one call can say
MOST_SIZES = 64  # that the benchmark program takes (max_sizes)
ELEMENT_BYTES = 8  # of the reductions: doubles


def planned(operations: Sequence[str], sizes: Sequence[int]) -> list[tuple[str, int]]:
    """Each operation at each size that it can have, the least size first; a barrier has none."""
    _require_counts(sizes)
    asked = [
        (operation, size)
        for operation in dict.fromkeys(operations)
        for size in (sorted(set(sizes)) if operation != "barrier" else [0])
    ]
    plan = [cell for cell in asked if not _is_cut_through(*cell)]
    left_out = [cell for cell in asked if _is_cut_through(*cell)]
    if left_out:
        why = f"they add up doubles, so that a size must be a multiple of {ELEMENT_BYTES} B"
        if not plan:
            raise UsageError(f"nothing is left to measure of {cells_named(left_out)}: {why}")
        printing.echo(f"unisono: left out: {cells_named(left_out)}: {why}", err=True)
    return plan


def _require_counts(sizes: Sequence[int]) -> None:
    for size in sizes:
        if size > MOST_BYTES:
            raise UsageError(
                f"--size {units.bytes_text(size)}: a call counts its bytes with an int, which ends at {MOST_BYTES}; name sizes below "
                "2 GiB"
            )
    if len(set(sizes)) > MOST_SIZES:
        raise UsageError(
            f"--size: {len(set(sizes))} sizes are more than the {MOST_SIZES} that one job measures"
        )


def _is_cut_through(operation: str, size: int) -> bool:
    return operation in REDUCTIONS and size % ELEMENT_BYTES != 0


def cells_named(cells: Sequence[tuple[str, int]]) -> str:
    """`gather 64 MiB, 128 MiB; scatter 64 MiB`."""
    of: dict[str, list[str]] = {}
    for operation, size in cells:
        of.setdefault(operation, []).append(units.bytes_text(size))
    return "; ".join(f"{operation} {', '.join(sizes)}" for operation, sizes in of.items())
