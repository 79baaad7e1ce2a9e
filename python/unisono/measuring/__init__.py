# SPDX-License-Identifier: BSD-3-Clause
"""Measuring collectives: the benchmark program, the job that answers questions, samples and cells."""
