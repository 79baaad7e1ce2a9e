# SPDX-License-Identifier: BSD-3-Clause
"""Unisono: the collective communication of MPI programs, made to tune itself."""

__version__ = "0.1.0"
