# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the tests with a real GPU."""

from __future__ import annotations

from pathlib import Path

import harness
import pytest
from gpus import ALL, AWARE, Installed
from harness import Runner


@pytest.fixture(scope="session", params=ALL, ids=lambda entry: entry.mpi.name)
def installed(request: pytest.FixtureRequest) -> Installed:
    return request.param


@pytest.fixture(scope="session", params=AWARE, ids=lambda entry: entry.mpi.name)
def aware(request: pytest.FixtureRequest) -> Installed:
    """Each MPI that takes the memory of GPUs itself."""
    return request.param


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(harness.build_yield_preload(), tmp_path)
