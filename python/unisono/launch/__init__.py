# SPDX-License-Identifier: BSD-3-Clause
"""Launchers, as the compiled part knows them, and the jobs that commands start with them."""
