# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Commands start faster from compiled modules.
if command -v python3 >/dev/null; then
  python3 -m compileall -q /usr/lib/unisono/python >/dev/null 2>&1 || :
fi
