# SPDX-License-Identifier: BSD-3-Clause
"""From the user's `mpirun ... program` to the command that runs: which launcher it is (`flavours`, `detect`),
where the programs stand in it (`parse`), the shim before each (`rewrite`), and the run itself (`process`)."""
