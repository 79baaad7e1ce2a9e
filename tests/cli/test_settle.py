# SPDX-License-Identifier: BSD-3-Clause
"""How often long messages are sent before they are timed (src/measure/settle.h), by a clock that calls move."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from conftest import compiled_with_benchmarks

# Prints how many calls were made of each server. Its arguments are the size, the seconds of a call, how many more the
# first call takes, the most that a call may take (0: no limit), and the servers.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { max_candidates = 8, large_bytes = 16384 };
enum { everybody, MPI_DOUBLE, MPI_MAX };
struct Operation { void (*run)(int bytes); };
static const char native[] = "native";
static double clock_s, call_s, first_s;
static int calls, counted_by_native, is_enabled;
static double now_s(void) { return clock_s; }
static void MPI_Barrier(int comm) { (void)comm; }
static void MPI_Allreduce(const double* from, double* into, int count, int type, int op, int comm) {
  (void)count, (void)type, (void)op, (void)comm;
  *into = 2 * *from;  /* another rank takes twice as long */
}
static void enable(int is) { is_enabled = is; }
static int select_server(const char* server) { (void)server; return 0; }
static void run(int bytes) {
  (void)bytes;
  clock_s += call_s + (calls++ == 0 ? first_s : 0);
  counted_by_native += !is_enabled;
}
#include "settle.h"
int main(int argc, char** argv) {
  const struct Operation op = {run};
  call_s = atof(argv[2]) / 2, first_s = atof(argv[3]) / 2;
  const double most_s = atof(argv[4]);
  for (int i = 5; i < argc; ++i) {
    calls = counted_by_native = 0;
    settle(&op, atoi(argv[1]), argv[i][0] == 'n' ? native : argv[i], most_s > 0 ? most_s : no_limit_s);
    if (counted_by_native != (argv[i][0] == 'n' ? calls : 0)) return 1;
    printf("%d ", calls);
  }
}
"""
Calls = Callable[..., list[int]]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    program = compiled_with_benchmarks(tmp_path_factory.mktemp("settle"), "settle", PROGRAM)

    def run(
        size: int, call_s: float, servers: str = "native", first_s: float = 0, most_s: float = 0
    ) -> list[int]:
        """How often each of the servers is called, when a call of the slowest rank takes `call_s`, and the first one `first_s` more."""
        command = [program, str(size), str(call_s), str(first_s), str(most_s), *servers.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [int(word) for word in done.stdout.split()]

    return run


def test_as_many_calls_as_fit_and_no_more_than_300(calls: Calls):
    assert calls(65536, 1e-6) == [300]
    assert calls(65536, 0) == [300]
    assert 45 <= calls(65536, 1e-4)[0] <= 50
    assert calls(65536, 4e-3) == [1]
    assert calls(65536, 1.0) == [1]


def test_a_slow_first_call_does_not_end_it(calls: Calls):
    assert calls(65536, 1e-5, first_s=1e-3)[0] >= 200


def test_what_takes_too_long_is_given_up_after_eight_calls(calls: Calls):
    assert calls(65536, 1e-5, most_s=0.9e-5) == [8]
    assert calls(65536, 1e-5, most_s=1.1e-5) == [300]
    assert calls(65536, 1e-5, first_s=1e-3, most_s=1.1e-5)[0] >= 200, "the first calls are no reason"


def test_each_server_once(calls: Calls):
    assert calls(65536, 1e-5, "native own native other own") == [300, 300, 0, 300, 0]


def test_short_messages_have_nothing_to_settle(calls: Calls):
    assert calls(16383, 1e-5) == [0]
    assert calls(16384, 1e-5) == [300]
