# SPDX-License-Identifier: BSD-3-Clause
"""Completion of `unisono` in shells: scripts that need no Python when a user presses Tab, made from the commands themselves."""
