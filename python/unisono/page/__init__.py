# SPDX-License-Identifier: BSD-3-Clause
"""Reports and tunings as one HTML page that needs no network (docs/guide/report.md)."""
