#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs test suites on a build that exists; each leaves a JUnit file in BUILD/test-results.
#   tools/run_tests.sh BUILD SUITE [pytest arguments]     SUITE: unit, cli, integration, or several; fake_host is the part
#                                                         of unit that sanitized builds have; packaging what users install;
#                                                         device what needs a GPU
# Exit status: 0 when every suite ran and passed. A suite that selects no test fails only when nothing was deselected
# on purpose, that is, without pytest arguments.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
build=$1
shift
suites=()
while [ $# -gt 0 ]; do
  case $1 in
    unit | fake_host | cli | integration | packaging | device) suites+=("$1"); shift ;;
    *) break ;;
  esac
done
results=$PWD/$build/test-results
mkdir -p "$results"
status=0

run_ctest() { # run_ctest SUITE ARGUMENTS...
  local suite=$1
  shift
  rm -f "$results/$suite.xml"
  # Whole outputs: tools/count_tests.py reads in them what was skipped.
  ctest --test-dir "$build" --parallel 2 --output-on-failure --no-tests=error --timeout 600 \
    --output-junit "$results/$suite.xml" --test-output-size-passed 10000000 --test-output-size-failed 10000000 "$@"
}

run_pytest() { # run_pytest SUITE RESULTS ARGUMENTS...: the tests in tests/SUITE, or those in `paths`
  local suite=$1 name=$2 code=0
  shift 2
  rm -f "$results/$name.xml"
  .venv/bin/python -m pytest -c "tests/$suite/pytest.ini" --rootdir "tests/$suite" \
    --junit-xml "$results/$name.xml" "$@" "${paths[@]:-tests/$suite}" || code=$?
  if [ "$code" = 5 ] && [ "${#arguments[@]}" -gt 0 ]; then
    echo "no test matches: $*"
    code=0
  fi
  return "$code"
}

# Two jobs at a time: with three all tests together take as long on two cores. What is measured in a test is measured
# with nothing beside it.
run_integration() {
  local code=0 paths=()
  run_pytest integration integration --alone not --numprocesses 2 --dist worksteal "${share[@]}" "${arguments[@]}" || code=1
  # Who looks for tests in all files reads all pages for their commands as well.
  mapfile -t paths < <(grep -l 'mark\.alone' tests/integration/test_*.py)
  run_pytest integration integration_alone --alone only "${share[@]}" "${arguments[@]}" || code=1
  return "$code"
}

# Where Python is told not to keep what it has compiled (PYTHONDONTWRITEBYTECODE), each start of `unisono` would take a
# third longer.
[ ! -d .venv ] || .venv/bin/python -m compileall -q python/unisono

# UNISONO_TEST_SHARE=K/N: of each test that has several MPIs or parameters, every N-th combination, from the K-th on, and
# every N-th of those that take long (.ci/run). Unit tests of very many cases read it themselves.
share=()
[ -z "${UNISONO_TEST_SHARE:-}" ] || share=(--share "$UNISONO_TEST_SHARE")
arguments=("$@")
for suite in "${suites[@]}"; do
  case $suite in
    unit) run_ctest unit || status=1 ;;
    fake_host) run_ctest fake_host -L fake_host || status=1 ;;
    cli) run_pytest cli cli --numprocesses 2 --dist worksteal "${share[@]}" "$@" || status=1 ;;
    packaging) run_pytest packaging packaging "$@" || status=1 ;;
    device) run_pytest device device "$@" || status=1 ;;
    integration) run_integration || status=1 ;;
  esac
done
exit "$status"
