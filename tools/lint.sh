#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# All linters over the files that git knows; goes on after a failure, so that one run shows everything. They run side by
# side, and what each says is printed in the order in which they stand here.
#   tools/lint.sh          check
#   tools/lint.sh --fix    format in place, mend what ruff can mend, then check
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
fix=${1:-}
status=0

said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
names=()
processes=()
check() { # check NAME COMMAND...
  names+=("$1")
  shift
  "$@" >"$said/${#names[@]}" 2>&1 &
  processes+=($!)
}

# Tracked files and new ones that are not ignored, as they stand in the working tree.
files() {
  git ls-files --cached --others --exclude-standard --deduplicate -- "$@" | while read -r file; do
    [ ! -f "$file" ] || echo "$file"
  done
}

mapfile -t c_files < <(files '*.c' '*.cc' '*.h')
mapfile -t shell_files < <(files '*.sh'; files | while read -r file; do
  case $file in *.sh) continue ;; esac
  head -c 30 "$file" | head -n 1 | grep -qaE '^#!.*\bbash$' && echo "$file"
done)

if [ "$fix" = --fix ]; then
  [ ${#c_files[@]} = 0 ] || .venv/bin/clang-format -i "${c_files[@]}"
  .venv/bin/ruff format --quiet .
  .venv/bin/ruff check --quiet --fix .
fi
printf '%s\n' "${c_files[@]}" >"$said/files"
[ ${#c_files[@]} = 0 ] || check clang-format xargs -a "$said/files" -P 2 -n 200 .venv/bin/clang-format --dry-run --Werror
check "ruff format" .venv/bin/ruff format --quiet --diff .
check "ruff" .venv/bin/ruff check --quiet .
check "types" .venv/bin/mypy --no-error-summary
check "layers" .venv/bin/python tools/check_layers.py
check "sizes" .venv/bin/python tools/check_sizes.py
check "packages" .venv/bin/python tools/check_packages.py
check "tests" .venv/bin/python tools/check_tests.py
check "messages" .venv/bin/python tools/check_messages.py
check "prose" .venv/bin/python tools/check_prose.py
check "sources" .venv/bin/python tools/check_sources.py
if command -v clang++ >/dev/null; then
  check "locks" .venv/bin/python tools/check_locks.py
else
  .venv/bin/python tools/check_locks.py
fi
[ ${#shell_files[@]} = 0 ] || check shellcheck shellcheck "${shell_files[@]}"
for i in "${!names[@]}"; do
  result=ok
  wait "${processes[$i]}" || { result=FAILED; status=1; }
  cat "$said/$((i + 1))"
  echo "lint: ${names[$i]}: $result"
done
exit "$status"
