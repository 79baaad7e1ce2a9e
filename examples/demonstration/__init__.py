# SPDX-License-Identifier: BSD-3-Clause
"""What examples/demo.py is made of: finding an MPI, building and running programs, comparing, presenting."""
