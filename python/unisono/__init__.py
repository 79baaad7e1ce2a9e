# SPDX-License-Identifier: BSD-3-Clause
"""Unisono: the collective communication of MPI programs, made to tune itself."""

from unisono.regions import region

__all__ = ["region"]
__version__ = "0.1.0"
