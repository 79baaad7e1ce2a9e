# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
if [ "$1" = 0 ]; then
  find /usr/lib/unisono/python -name __pycache__ -type d -prune -exec rm -r {} + 2>/dev/null || :
fi
