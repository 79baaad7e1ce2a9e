# SPDX-License-Identifier: BSD-3-Clause
"""What every part rests on: errors, files, units, printing, the compiled helper."""
