# SPDX-License-Identifier: BSD-3-Clause
"""The wheel as a user meets it: installed into an empty environment, in an empty home, and a job run with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LAUNCHERS, environment_with, try_all
from place import Place


@pytest.mark.parametrize("mpi", sorted(LAUNCHERS))
def test_a_job_runs(place: Place, packages: Path, job: dict[str, Path], mpi: str) -> None:
    environment = environment_with(place, packages, "unisono", mpi)
    try_all(place, environment / "bin/unisono", environment, mpi, place.put(job[mpi], "sum"))


def test_an_uninstalled_wheel_leaves_nothing(place: Place, packages: Path) -> None:
    environment = environment_with(place, packages, "unisono")
    assert place.outside(environment / "lib/unisono/libunisono.so").is_file()
    place.run([environment / "bin/pip", "uninstall", "--quiet", "--yes", "unisono"])
    left = [path for path in place.outside(environment).rglob("*unisono*") if path.is_file()]
    assert not left
