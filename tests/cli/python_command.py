# SPDX-License-Identifier: BSD-3-Clause
"""The part of the command that is in Python, as an installation has it: unisono-cli."""

from unisono.main import main

main()
