# SPDX-License-Identifier: BSD-3-Clause
"""How long series take turns (src/measure/series_samples.h), on made-up samples."""

from __future__ import annotations

import itertools
import random
import subprocess
from collections.abc import Callable, Sequence

import pytest
from conftest import compiled_with_benchmarks

# Prints after how many rounds it is decided, 0 for never, and the rounds that each series took part in.
PROGRAM = """
#include "series_samples.h"
int main(int argc, char** argv) {
  static double times[most_in_turns][400];
  struct Turns turns = {.samples = *times, .stride = 400, .series = atoi(argv[argc - 1])};
  int counts[most_in_turns] = {0}, decided = 0;
  for (int round = 0; round < 400 && !decided; ++round) {
    for (int i = 0; i < turns.series; ++i) {
      if (scanf("%lf", &times[i][round]) != 1) return 1;
      counts[i] += !turns.is_behind[i];
    }
    turns.seconds = (round + 1) * atof(argv[1]);
    if (has_enough(&turns, round + 1, (struct Purpose){0.02, .is_for_best = 1})) decided = round + 1;
  }
  printf("%d", decided);
  for (int i = 0; i < turns.series; ++i) printf(" %d", counts[i]);
}
"""
Decided = Callable[..., tuple[int, list[int]]]


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Decided:
    program = compiled_with_benchmarks(tmp_path_factory.mktemp("turns"), "turns", PROGRAM)

    def run(times: Sequence[float], noise: float, round_s: float = 0.01) -> tuple[int, list[int]]:
        """Native, the own choice and candidates with these times, each sample off by `noise` at most; a round takes `round_s`."""
        draw = random.Random(1)
        samples = [t * draw.uniform(1, 1 + noise) for _, t in itertools.product(range(400), times)]
        words = " ".join(map(str, samples))
        command = [program, str(round_s), str(len(times))]
        done = subprocess.run(command, input=words, capture_output=True, text=True, check=True)
        rounds, *counts = map(int, done.stdout.split())
        return rounds, counts

    return run


def test_few_rounds_are_enough_where_all_are_far_behind(decided: Decided):
    assert decided([3.0, 1.0, 1.5, 1.4], 0.01) == (3, [3, 3, 3, 3])


def test_what_is_behind_takes_no_further_part(decided: Decided):
    rounds, (native, own, slow, best) = decided([3.0, 1.06, 1.2, 1.0], 0.1)
    assert native == 3
    assert slow < rounds or slow <= 10
    assert rounds == best and own <= best


def test_the_own_choice_is_not_given_up_in_a_moment(decided: Decided):
    """All that is measured of short calls in a moment may lie in one disturbance of the machine."""
    rounds, (_, own, _) = decided([3.0, 2.0, 1.0], 0.01, 0.001)
    assert rounds == own >= 50
    assert decided([3.0, 1.0, 2.0], 0.01, 0.001)[0] == 3, "nothing speaks against it"


def test_the_own_choice_on_a_level_ends_it(decided: Decided):
    rounds, _ = decided([2.0, 1.0, 1.001], 0.01)
    assert 5 <= rounds <= 10


def test_the_own_choice_ahead_need_not_be_better_by_much(decided: Decided):
    """Others are known to be no faster: by how much they are slower does not matter."""
    ahead, _ = decided([2.0, 1.0, 1.1], 0.3)
    level, _ = decided([2.0, 1.0, 1.0], 0.3)
    assert 0 < ahead < (level or 400)


def test_noise_takes_rounds(decided: Decided):
    quiet, _ = decided([2.0, 1.05, 1.0], 0.01)
    noisy, _ = decided([2.0, 1.05, 1.0], 0.3)
    assert 0 < quiet < (noisy or 400)
