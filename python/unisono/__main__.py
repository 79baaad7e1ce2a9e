# SPDX-License-Identifier: BSD-3-Clause
"""`python -m unisono`: the same as the command `unisono`."""

from unisono.main import main

main()
