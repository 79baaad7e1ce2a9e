# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of a machine (A9, sections 5.3.1 to 5.3.3): the questions, and the samples that answer them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from unisono.common.extras import numpy as np
from unisono.common.units import KIB, MIB
from unisono.measuring.measurer import Place

LINK_SIZES = (0, 64, 512, *(KIB << k for k in range(7)), 256 * KIB, MIB, 4 * MIB)
LINK_KINDS = ("ping_pong", "overheads", "gap")
FRESH_SIZES = (512, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)  # of LINK_SIZES
CARD_SIZES = (0, 64 * KIB, MIB)
SLOT_SIZES = (8, 64, 512, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB)
COPY_SIZES = (64, 512, 4 * KIB, 16 * KIB, 64 * KIB, 512 * KIB, 4 * MIB)
SEGMENT_SIZES = (4 * KIB, 64 * KIB, 512 * KIB)  # of what the ranks of a node share out
# Serial reductions (N6, section 4.1): vectors, and how many children the root hears from.
SERIAL_SIZES, SERIAL_CHILDREN = (8, 64), (1, 2, 4, 8, 16)
OVERLAP_SIZES = (16 * KIB, 64 * KIB, 256 * KIB, MIB)
FUSED_SIZES = (8, 280, 2 * KIB)
FUSED_LINES = (1, 5)  # of the first two of these
# What may lie between two ranks of a node, and the bytes by whose times it is known.
DISTANCES, FAR_BYTES = ("cache", "numa", "socket"), 64 * KIB
BUFFERS = 4  # the standard parameter
PIECE_SIZES = (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)
BUFFER_COUNTS = (2, 4, 8, 16)
LEAST_TOTAL, MOST_TOTAL = 8 * KIB, 8 * MIB
CHANNEL_BYTES = 16 * MIB  # that the job needs for the largest total, in one rank's half
WAITS = ("spin", "pause", "yield", "futex", "sleep")
GIVING_WAITS = ("yield", "futex", "sleep")  # those that give their core away
# Collective calls whose steps are known: what is left of their time is the call's own.
CALLS = (("barrier", 0), ("allgather", 8), ("alltoall", 8), ("allreduce", 8), ("allgather", 512))
FUSED_CALL = "call barrier:fused"
# Calls by messages of ranks that share cores: what they take beyond the model's other parts is how a core changes from one that waits.
MESSAGE_CALLS = (
    ("barrier", "dissemination", 0),
    ("allgather", "pairwise", 8),
    ("alltoall", "pairwise", 8),
    ("allreduce", "recursive_doubling", 8),
)
_JUMP = 1.15  # from one size to the next, beyond what bytes account for: the MPI changes its protocol between
_HALVINGS = 3
_ROUND_S, _LEAST_ROUND_S = 0.06, 0.002
_NARROW = 0.05  # half an interval, as a part of the value: no more samples are taken
_MOST_ROUNDS = 8
_MARKER_S = 0.004
_MARKS = (("pair_sync", "time"), ("ping_pong", "half"))
_ALIKE = 1.5  # times as long, or as short, as at first
_PAUSE_S, _PATIENCE_S = 0.1, 1.0  # until a change counts as one that stays
_MOST_BEGINNINGS = 3
_RESAMPLINGS = 400
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Question:
    """One operation or message: in which group of ranks ('pair', 'node', 'net', 'nets', 'all', or DISTANCES), through how many buffers, and how
    ranks wait meanwhile where not as usual. Of a serial reduction `buffers` is the number of its children."""

    what: str
    group: str
    bytes: int = 0
    buffers: int = BUFFERS
    wait: str = ""


class Job(Protocol):
    def cost(
        self, what: str, size: int, group: str, buffers: int, wait: str, seconds: float
    ) -> dict[str, np.ndarray]: ...


def plan(place: Place, cores: int) -> list[Question]:
    """All questions that make sense on this layout."""
    most = place.ranks_per_node[1]
    shares_cores = place.most_on_cores > cores
    questions: list[Question] = []
    if most > 1:
        questions += _inside_a_node(shares_cores)
        questions += _of_distances() if most > len(DISTANCES) else []
        questions += serial_questions("pair" if shares_cores else "node")
    if place.nodes > 1:
        questions += _of_messages("net")
        questions += serial_questions("net")
        questions += [Question("overlap", "net", size) for size in OVERLAP_SIZES]
        if place.ranks_per_node[0] > 1:
            questions += [Question("gap", "nets", size) for size in CARD_SIZES]
    if shares_cores:
        questions += [message_question(call, place) for call in MESSAGE_CALLS]
    return questions


def _of_messages(group: str) -> Iterator[Question]:
    for what in LINK_KINDS:
        yield from (Question(what, group, size) for size in LINK_SIZES)


def _of_distances() -> Iterator[Question]:
    """Of ranks that are a domain apart; no sample comes of those that no two ranks of the node are."""
    for group in DISTANCES:
        yield from (Question("allreduce", group, size) for size in FUSED_SIZES[:2])
        yield Question("get", group, FAR_BYTES)


def serial_questions(group: str) -> list[Question]:
    return [
        Question("serial", group, size, children) for size in SERIAL_SIZES for children in SERIAL_CHILDREN
    ]


def message_question(call: tuple[str, str, int], place: Place) -> Question:
    """What one of MESSAGE_CALLS takes on all ranks that share cores: of a node, or of several that share them."""
    name, algorithm, size = call
    return Question(f"call {name}:{algorithm}", "node" if place.nodes_on_cores == 1 else "all", size)


def _inside_a_node(shares_cores: bool) -> Iterator[Question]:
    yield from _of_messages("pair")
    yield from (Question("fresh", "pair", size) for size in FRESH_SIZES)
    for what in ("pair_sync", "signal", "await", "switch", "barrier"):
        yield Question(what, "pair")
    for what in ("put", "get"):
        yield from (Question(what, "pair", size) for size in SLOT_SIZES)
    for what in ("copy", "combine", "single_copy"):
        yield from (Question(what, "pair", size) for size in COPY_SIZES)
    yield from (Question("allreduce", "pair", size) for size in FUSED_SIZES)
    yield from (Question(f"call {name}:shared", "pair", size) for name, size in CALLS)
    yield Question(FUSED_CALL, "pair")
    yield from (
        Question("pipeline", "pair", piece, buffers)
        for piece in PIECE_SIZES
        for buffers in BUFFER_COUNTS
        if LEAST_TOTAL <= piece * buffers <= MOST_TOTAL
    )
    yield Question("copy_by_all", "node", MIB)
    for what in ("get", "group_seg_put", "group_seg_get"):
        yield from (Question(what, "node", size) for size in SEGMENT_SIZES)
    # Ranks that share a core and keep it while they wait take a scheduler's tick for each step: no choice.
    yield from (
        Question("group_sync", "node", wait=wait) for wait in (GIVING_WAITS if shares_cores else WAITS)
    )


@dataclass(frozen=True)
class Estimate:
    """A median in seconds with its bootstrap interval."""

    value: float
    low: float
    high: float

    @property
    def is_narrow(self) -> bool:
        return self.high - self.low <= 2 * _NARROW * self.value


def estimate(samples: np.ndarray, random: np.random.Generator) -> Estimate:
    medians = np.median(resampled(samples, random), axis=1)
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Estimate(float(np.median(samples)), float(low), float(high))


def resampled(samples: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Rows of samples drawn with replacement."""
    drawn: np.ndarray = samples[random.integers(0, len(samples), size=(_RESAMPLINGS, len(samples)))]
    return drawn


@dataclass
class Costs:
    """Samples by question and name."""

    series: dict[tuple[Question, str], np.ndarray] = field(default_factory=dict)
    seed: int = 0
    is_steady: bool = True  # the machine stayed what it was

    def add(self, question: Question, answer: dict[str, np.ndarray]) -> None:
        for name, samples in answer.items():
            before = self.series.get((question, name))
            self.series[question, name] = samples if before is None else np.concatenate([before, samples])

    def samples(self, question: Question, name: str = "time") -> np.ndarray | None:
        return self.series.get((question, name))

    def estimate(self, question: Question, name: str = "time") -> Estimate | None:
        samples = self.samples(question, name)
        if samples is None or len(samples) == 0:
            return None
        return estimate(samples, np.random.default_rng(self.seed))

    def is_known_well(self, question: Question) -> bool:
        found = [self.estimate(q, name) for q, name in self.series if q == question]
        return all(e is not None and e.is_narrow for e in found)

    def sizes(self, what: str, group: str) -> list[int]:
        """Of which there are samples."""
        return sorted({q.bytes for q, _ in self.series if (q.what, q.group) == (what, group)})

    @property
    def count(self) -> int:
        return sum(len(samples) for samples in self.series.values())


class ChangedError(Exception):
    """The machine is not what it was when the first question was asked."""


class Marker:
    """Says whether the machine is as it was at first, by a flag and by an empty message between two ranks.
    Virtual machines move their cores and share them with others, and what was measured before and after that
    does not go together. `expected`: both in seconds, where they are known from before."""

    def __init__(self, job: Job, is_there: bool = True, expected: Sequence[float] | None = None) -> None:
        self._job = job
        self._first = expected or (self.now() if is_there else [])

    def now(self) -> list[float]:
        answers = [(self._job.cost(what, 0, "pair", 1, "", _MARKER_S), name) for what, name in _MARKS]
        return [float(np.median(answer[name])) for answer, name in answers if name in answer]

    def is_same(self) -> bool:
        if not self._first:
            return True
        return all(a / _ALIKE <= b <= a * _ALIKE for a, b in zip(self._first, self.now(), strict=False))


def measure(
    job: Job, questions: Sequence[Question], budget_s: float, on_question: Callable[[Question], None]
) -> Costs:
    """Ask each question until its intervals are narrow, at most for its share of the time (A11). Where the
    machine changes meanwhile all begins anew, as often as there is time for. When there is none, what is
    known by then stays, and only what was never asked is asked once."""
    end = time.monotonic() + budget_s
    known = Costs(is_steady=False)
    for _ in range(_MOST_BEGINNINGS):
        costs = Costs()
        try:
            _ask_all(job, costs, questions, end, on_question, has_choice=True)
            return costs
        except ChangedError:
            known.series |= costs.series
            if time.monotonic() > end:
                asked = {question for question, _ in known.series}
                left = [question for question in questions if question not in asked]
                _ask_all(job, known, left, end, on_question, has_choice=False)
                return known
    costs = Costs(is_steady=False)
    _ask_all(job, costs, questions, end, on_question, has_choice=False)
    return costs


def _ask_all(
    job: Job,
    costs: Costs,
    questions: Sequence[Question],
    end: float,
    on_question: Callable[[Question], None],
    has_choice: bool,
) -> None:
    marker = Marker(job, has_choice and any(q.group == "pair" for q in questions))
    # What is asked between two sizes at the end has to fit into the time as well.
    groups = [group for group in ("pair", "net") if Question("ping_pong", group) in questions]
    later = len(groups) * _HALVINGS * len(LINK_KINDS)
    share_s = (end - time.monotonic()) / max(1, len(questions) + later)
    for number, question in enumerate(questions):
        on_question(question)
        _ask(job, costs, question, marker, (end - time.monotonic()) / (len(questions) + later - number))
    for group in groups:
        for _ in range(_HALVINGS):
            between = jump(costs, group)
            if between is None or time.monotonic() > end:
                break
            for what in LINK_KINDS:
                _ask(job, costs, Question(what, group, between), marker, share_s)


def _ask(job: Job, costs: Costs, question: Question, marker: Marker, seconds: float) -> None:
    """Samples that count are those after which the machine is still the same."""
    end = time.monotonic() + seconds
    patience_s = min(_PATIENCE_S, 10 * seconds)
    round_s = min(_ROUND_S, max(_LEAST_ROUND_S, seconds / 2))
    asked = (question.what, question.bytes, question.group, question.buffers, question.wait)
    for _ in range(_MOST_ROUNDS):
        answer = job.cost(*asked, round_s)
        while not marker.is_same():
            if patience_s <= 0:
                raise ChangedError
            time.sleep(_PAUSE_S)
            patience_s -= _PAUSE_S
            answer = job.cost(*asked, round_s)
        costs.add(question, answer)
        if not answer or costs.is_known_well(question) or time.monotonic() > end:
            break


def jump(costs: Costs, group: str) -> int | None:
    """The middle of two neighbouring sizes between which a message's time makes the largest jump, where there is one: the line
    between them would be wrong for most sizes."""
    sizes = costs.sizes("ping_pong", group)
    times = [costs.estimate(Question("ping_pong", group, size), "half") for size in sizes]
    found = []
    for a, b, before, after in zip(sizes, sizes[1:], times, times[1:], strict=False):
        if before is None or after is None or b - a < 256 or a == 0:
            continue
        found.append((after.value / before.value / (b / a), (a + b) // 2 // 8 * 8))
    most = max(found, default=None)
    return most[1] if most is not None and most[0] > _JUMP else None
