# SPDX-License-Identifier: BSD-3-Clause
"""All suites by name."""

from __future__ import annotations

from application_suites import HpccSuite, LammpsSuite
from fortran_suite import FortranSuite
from imb_suite import ImbSuite
from matrix_suite import MatrixSuite
from mpi4py_suite import Mpi4pySuite
from scalapack_suite import ScalapackSuite
from spawn_suite import SpawnSuite
from stress_suite import StressSuite
from suite import Suite
from traffic_suite import TrafficSuite

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Mpi4pySuite(),
        SpawnSuite(),
        ImbSuite(),
        ScalapackSuite(),
        HpccSuite(),
        LammpsSuite(),
        FortranSuite(),
        StressSuite(),
        TrafficSuite(),
        MatrixSuite(),
    )
}
