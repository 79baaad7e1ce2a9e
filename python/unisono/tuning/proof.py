# SPDX-License-Identifier: BSD-3-Clause
"""What tuning loses against an exhaustive search of the same cells, and which part of its time it takes (A8,
B2). The decisions of both take turns in one job, which runs by the tuned table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unisono.common.extras import numpy as np
from unisono.measuring.measurer import Measurer
from unisono.tuning.results import TIE, Outcome


@dataclass(frozen=True)
class Compared:
    """One cell. `choices`: by tuning (and as it was served), by the search, and by others that take part.
    `times`: seconds a call of each, in turn. None: nothing was chosen, or it did not run."""

    operation: str
    bytes: int
    choices: Mapping[str, str | None]
    times: Mapping[str, float | None]
    slowdown: tuple[float, float, float]  # the tuned decision over native, and the 95 % interval
    took_s: tuple[float, float]  # tuning, and the search
    looked: tuple[int, int]
    # Of what they took, until the last candidates were measured in turn.
    looking_s: tuple[float, float] = (0.0, 0.0)

    def loss(self, kind: str) -> float | None:
        """Against the search's winner; negative where that one was luck."""
        time_s, best_s = self.times[kind], self.times["search"]
        return time_s / best_s - 1 if time_s and best_s else None

    @property
    def is_slower(self) -> bool:
        return self.slowdown[1] > TIE


def in_turn(
    job: Measurer,
    tuned: Outcome,
    searched: Outcome,
    seconds: float,
    others: Mapping[str, str | None] | None = None,
) -> Compared:
    """One cell, measured within `seconds` in a job that runs by the tuned table. It has native, the search's
    winner, and what `others` have chosen. What the table decides is measured as a program gets it, looking it
    up included."""
    choices = {"tuned": tuned.winner(), "search": searched.winner(), **(others or {})}
    listed = [name for kind, name in choices.items() if kind != "tuned"]
    names = [name for name in dict.fromkeys(listed) if name and name != "native"]
    cell = job.compare(tuned.operation, tuned.bytes, names, seconds)
    times = {"native": cell.native_s} | {c.name: c.seconds for c in cell.candidates}
    by_kind = {kind: times.get(name) if name else None for kind, name in choices.items() if kind != "tuned"}
    return Compared(
        tuned.operation,
        tuned.bytes,
        choices | {"served": cell.algorithm},
        {"native": cell.native_s, "tuned": cell.unisono_s, **by_kind},
        (1 / cell.speedup, 1 / cell.speedup_high, 1 / cell.speedup_low),
        (tuned.seconds, searched.seconds),
        (tuned.looked, searched.looked),
        (tuned.looking_s, searched.looking_s),
    )


def losses(cells: Sequence[Compared], kind: str) -> list[float]:
    return [loss for loss in (c.loss(kind) for c in cells) if loss is not None]


def geometric(losses: Sequence[float]) -> tuple[float, float, float]:
    """The mean loss, and its 95 % interval by drawing cells anew."""
    logs = np.log1p(np.asarray(losses))
    random = np.random.default_rng(0)
    means = np.mean(random.choice(logs, (2000, len(logs))), axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(np.expm1(np.mean(logs))), float(np.expm1(low)), float(np.expm1(high))


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def loss_text(cells: Sequence[Compared], kind: str) -> str:
    """`1.2 % (-0.4 to 2.9)`: geometric mean and 95 % interval."""
    mean, low, high = geometric(losses(cells, kind))
    return f"{percent(mean)} ({100 * low:.1f} to {100 * high:.1f})"


def times_taken(cells: Sequence[Compared], start_s: float) -> list[str]:
    """Tuning's time, and which part of the search's that is: as it is; where the start of a job counts for both; without the
    last comparisons, which both make."""
    tuning, search = (sum(c.took_s[i] for c in cells) for i in (0, 1))
    looks = [sum(c.looking_s[i] for c in cells) for i in (0, 1)]
    shares = [tuning / search, (tuning + start_s) / (search + start_s)]
    return [
        f"{tuning:.1f} s of {search:.1f} s",
        *map(percent, shares),
        percent(looks[0] / looks[1]) if looks[1] else "",
    ]
