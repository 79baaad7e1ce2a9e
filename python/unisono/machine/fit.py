# SPDX-License-Identifier: BSD-3-Clause
"""From samples to the parameters of the models (A7, G1), with intervals: what stands in a machine's file."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from unisono.common.units import KIB, MIB
from unisono.machine import line_fit
from unisono.machine.costs import (
    BUFFER_COUNTS,
    CALLS,
    CARD_SIZES,
    COPY_SIZES,
    FRESH_SIZES,
    FUSED_CALL,
    FUSED_LINES,
    FUSED_SIZES,
    MESSAGE_CALLS,
    OVERLAP_SIZES,
    PIECE_SIZES,
    SEGMENT_SIZES,
    SLOT_SIZES,
    WAITS,
    Costs,
    Estimate,
    Question,
    message_question,
    resampled,
)
from unisono.measuring.measurer import Place

US = 1e6
_LARGE = 64 * KIB  # from here on a message's time is its bytes'
_TAIL = 0.025
_EFFICIENT = 2.0  # a segment costs at most so many times its share of an endless one ...
_SATURATED = 1.1  # ... and beyond this nothing is gained

Document = dict[str, Any]


def rounded(number: float) -> float:
    return float(f"{max(0.0, number):.4g}")


def number(of: Any) -> float:
    """A file's value, with or without its interval."""
    return float(of["value"] if isinstance(of, dict) else of)


def value(estimate: Estimate) -> Document:
    return {name: rounded(getattr(estimate, name) * US) for name in ("value", "low", "high")}


def from_draws(point: float, draws: np.ndarray) -> Document:
    """A value that follows from several measured ones, with what it is in draws of all of them."""
    low, high = np.quantile(draws, [_TAIL, 1 - _TAIL])
    return {"value": rounded(point), "low": rounded(min(low, point)), "high": rounded(max(high, point))}


def curve(
    costs: Costs, questions: Sequence[Question], name: str = "time", sizes: Sequence[int] | None = None
) -> Document | None:
    """Times over bytes, of what was measured; `sizes` where they are not the questions'."""
    points = [
        (size, estimate)
        for size, question in zip(sizes or [q.bytes for q in questions], questions, strict=True)
        if (estimate := costs.estimate(question, name)) is not None
    ]
    if not points:
        return None
    columns = {column: [rounded(getattr(e, column) * US) for _, e in points] for column in ("low", "high")}
    return {"bytes": [size for size, _ in points], "us": [rounded(e.value * US) for _, e in points]} | columns


class _Draws:
    """Medians of several series in microseconds: as measured, and drawn anew from their samples."""

    def __init__(self, costs: Costs, seed: int = 1) -> None:
        self._costs = costs
        self._random = np.random.default_rng(seed)
        self._known: dict[tuple[Question, str], tuple[float, np.ndarray]] = {}

    def of(self, question: Question, name: str = "time") -> tuple[float, np.ndarray] | None:
        if (question, name) not in self._known:
            samples = self._costs.samples(question, name)
            if samples is None or len(samples) == 0:
                return None
            medians = np.median(resampled(samples, self._random), axis=1)
            self._known[question, name] = (float(np.median(samples)) * US, medians * US)
        return self._known[question, name]

    def value(self, formula: Callable[..., Any], *of: tuple[Question, str]) -> Document | None:
        """What a formula makes of medians."""
        known = [self.of(*one) for one in of]
        if any(one is None for one in known):
            return None
        points, draws = zip(*[one for one in known if one is not None], strict=True)
        return from_draws(float(formula(*points)), np.maximum(0.0, formula(*draws)))

    def line(self, questions: Sequence[Question], name: str) -> tuple[Document, Document] | None:
        """alpha and beta of alpha + beta * bytes, as line_fit has it. The draws keep the break that the medians have."""
        known = [(q.bytes, one) for q in questions if (one := self.of(q, name)) is not None]
        if len(known) < 2:
            return None
        sizes = np.array([size for size, _ in known], dtype=float)
        point = line_fit.fit(sizes, np.array([one[0] for _, one in known]))
        rows = np.array([one[1] for _, one in known]).T
        draws = [line_fit.fit(sizes, row, point.break_at) for row in rows]
        alpha = from_draws(point.alpha, np.array([draw.alpha for draw in draws]))
        return alpha, from_draws(point.beta, np.array([draw.beta for draw in draws]))


def link(costs: Costs, group: str) -> Document | None:
    """Messages of the host MPI on one level, for all models."""
    sizes = costs.sizes("ping_pong", group)
    if not sizes:
        return None
    ping_pong, overheads, gaps = (
        [Question(what, group, size) for size in sizes] for what in ("ping_pong", "overheads", "gap")
    )
    draws = _Draws(costs)
    hockney = draws.line(ping_pong, "half")
    large = draws.line([q for q in gaps if q.bytes >= _LARGE], "gap")
    send, receive, gap, whole = (
        curve(costs, questions, name)
        for questions, name in (
            (overheads, "os"),
            (overheads, "or"),
            (gaps, "gap"),
            (ping_pong, "half"),
        )
    )
    empty = (ping_pong[0], "half")
    latency = draws.value(lambda half, g: np.maximum(0, half - g), empty, (gaps[0], "gap"))
    sides = ((overheads[0], "os"), (overheads[0], "or"))
    overhead = draws.value(lambda half, s, r: np.minimum(half, s + r) / 2, empty, *sides)
    rest = draws.value(lambda half, s, r: np.maximum(0, half - s - r), empty, *sides)
    found = (hockney, large, send, receive, gap, whole, latency, overhead, rest)
    if any(one is None for one in found) or hockney is None or large is None:
        return None
    least_gap = costs.estimate(gaps[0], "gap")
    assert least_gap is not None
    return {
        "hockney": {"alpha_us": hockney[0], "beta_us_per_byte": hockney[1]},
        "loggp": {
            "L_us": rest,
            "o_us": overhead,
            "g_us": value(least_gap),
            "G_us_per_byte": large[1],
            "word_bytes": 8,
        },
        "plogp": {"L_us": latency, "os_us": send, "or_us": receive, "g_us": gap, "whole_us": whole},
    }


def shared_memory(costs: Costs, place: Place, channel_bytes: int) -> Document:
    """The operations on the node's shared memory; keys are left out where nothing was measured."""
    draws = _Draws(costs)
    pair_sync, signal, awaiting, barrier = (
        (Question(what, "pair"), "time") for what in ("pair_sync", "signal", "await", FUSED_CALL)
    )
    small, longer = ((Question("allreduce", "pair", size), "time") for size in FUSED_SIZES[:2])
    lines = 2 * (FUSED_LINES[1] - FUSED_LINES[0])  # on the way of both ranks: written and read
    per_line = lambda a, b: np.maximum(0, b - a) / lines  # noqa: E731
    found: Document = {
        "signal_us": draws.value(lambda t: t, signal),
        "await_us": draws.value(lambda t: t, awaiting),
        "flag_us": draws.value(lambda sync, s, a: np.maximum(0, sync - s - a), pair_sync, signal, awaiting),
        "line_us": draws.value(per_line, small, longer),
        "fused_us": draws.value(
            lambda whole, a, b, sync, s, w: np.maximum(0, whole - 2 * per_line(a, b) - (sync - s - w)),
            barrier,
            small,
            longer,
            pair_sync,
            signal,
            awaiting,
        ),
        "channel_bytes": channel_bytes,
    }
    for key, what, sizes in (
        ("put_us", "put", SLOT_SIZES),
        ("get_us", "get", SLOT_SIZES),
        ("copy_us", "copy", COPY_SIZES),
        ("combine_us", "combine", COPY_SIZES),
        ("single_copy_us", "single_copy", COPY_SIZES),
    ):
        found[key] = curve(costs, [Question(what, "pair", size) for size in sizes])
    ranks = place.ranks_per_node[1]
    found["memory_us_per_byte"] = draws.value(
        lambda t: t / (ranks * MIB), (Question("copy_by_all", "node", MIB), "time")
    )
    return {key: what for key, what in found.items() if what is not None}


def calls(costs: Costs, predicted: Mapping[tuple[str, int], tuple[float, float]]) -> Document:
    """call_us and step_us: what is left of collectives by shared memory when their operations are taken off, by least squares
    over the steps of a rank. `predicted`: microseconds and steps of each by the model, with neither of the two."""
    draws = _Draws(costs)
    known = [
        (one, *predicted[name, size])
        for name, size in CALLS
        if (name, size) in predicted
        and (one := draws.of(Question(f"call {name}:shared", "pair", size))) is not None
    ]
    if len({steps for _, _, steps in known}) < 2:
        return {}
    steps = np.array([steps for _, _, steps in known])
    offsets = np.array([us for _, us, _ in known])
    point = _call_and_step(steps, np.array([one[0] for one, _, _ in known]) - offsets)
    rows = np.array([one[1] for one, _, _ in known]).T - offsets
    found = np.array([_call_and_step(steps, row) for row in rows])
    return {"call_us": from_draws(point[0], found[:, 0]), "step_us": from_draws(point[1], found[:, 1])}


def _call_and_step(steps: np.ndarray, left: np.ndarray) -> tuple[float, float]:
    """Neither is below 0."""
    (step, call) = np.polyfit(steps, left, 1)
    if call < 0:
        return 0.0, max(0.0, float((left * steps).sum() / (steps**2).sum()))
    if step < 0:
        return max(0.0, float(left.mean())), 0.0
    return float(call), float(step)


def message_calls(costs: Costs, place: Place) -> dict[tuple[str, str, int], Estimate]:
    """Those of MESSAGE_CALLS that were measured."""
    found = {call: costs.estimate(message_question(call, place)) for call in MESSAGE_CALLS}
    return {call: estimate for call, estimate in found.items() if estimate is not None}


def message_switch(
    measured: Mapping[tuple[str, str, int], Estimate],
    predicted: Mapping[float, Mapping[tuple[str, str, int], float]],
) -> Document | None:
    """message_switch_us: of those tried, the one by which MESSAGE_CALLS are predicted best (the least sum of the logarithms' errors,
    since one call alone may go in step with the turns); the interval is that of the calls' own. `predicted`: microseconds by it."""
    if not measured or not predicted:
        return None

    def best(times: Mapping[tuple[str, str, int], float]) -> float:
        def error(tried: float) -> float:
            by = predicted[tried]
            return sum(abs(float(np.log(by[call] / (us * US)))) for call, us in times.items() if call in by)

        return min(sorted(predicted), key=error)

    found = [
        best({call: getattr(one, key) for call, one in measured.items()}) for key in ("value", "low", "high")
    ]
    return {"value": rounded(found[0]), "low": rounded(min(found)), "high": rounded(max(found))}


def fresh_messages(costs: Costs) -> Document | None:
    """What messages inside a node take longer of data that the sender has just written."""
    longer = lambda fresh, usual: np.maximum(0, fresh - usual)  # noqa: E731
    return _differences(
        costs,
        FRESH_SIZES,
        longer,
        lambda size: [(Question(what, "pair", size), "half") for what in ("fresh", "ping_pong")],
    )


def network_card(costs: Costs, place: Place) -> Document | None:
    """What several pairs between two nodes at once take, a message of all of them together."""
    pairs = place.ranks_per_node[0]
    questions = [Question("gap", "nets", size) for size in CARD_SIZES]
    found = _Draws(costs).line(questions, "gap")
    if found is None:
        return None
    shares = [{name: rounded(number / pairs) for name, number in part.items()} for part in found]
    return {"message_us": shares[0], "us_per_byte": shares[1]}


def overlap_penalty(costs: Costs) -> Document | None:
    """ovp(m), section 4.5: by how much a message with a copy beside it takes longer than the longer of both alone."""
    return _differences(
        costs,
        OVERLAP_SIZES,
        lambda alone, beside, copied: np.maximum(0, beside - np.maximum(alone, copied)),
        lambda size: [(Question("overlap", "net", size), name) for name in ("alone", "beside", "copy")],
    )


def _differences(
    costs: Costs,
    sizes: Sequence[int],
    of: Callable[..., np.ndarray],
    series: Callable[[int], Sequence[tuple[Question, str]]],
) -> Document | None:
    """A curve of what is left of some series, where they are known."""
    draws = _Draws(costs)
    values = [(size, draws.value(of, *series(size))) for size in sizes]
    known = [(size, one) for size, one in values if one is not None]
    if not known:
        return None
    rows = {"us": "value", "low": "low", "high": "high"}
    return {"bytes": [size for size, _ in known]} | {
        row: [one[name] for _, one in known] for row, name in rows.items()
    }


# --- What the source asks for beside the models' parameters ---


def at(points: Mapping[str, Any], size: float) -> float:
    """A curve's time: linear between its points, constant before, as steep as at its end beyond."""
    sizes, times = points["bytes"], points["us"]
    if size > sizes[-1] and len(sizes) > 1:
        slope = max(0.0, (times[-1] - times[-2]) / (sizes[-1] - sizes[-2]))
        return float(times[-1] + slope * (size - sizes[-1]))
    return float(np.interp(size, sizes, times))


def switch_point(of: Mapping[str, Any]) -> int:
    """5.3.2 (2): the bytes from which on a message is bound by bandwidth: it takes longer than all else (Hockney's n 1/2)."""
    alpha, beta = (of["hockney"][key]["value"] for key in ("alpha_us", "beta_us_per_byte"))
    return round(alpha / beta) if beta > 0 else 0


def segment_range(of: Mapping[str, Any]) -> tuple[int, int]:
    """5.3.2 (4): the powers of two between which a segment is neither too dear nor longer than it need be."""
    gap, per_byte = of["plogp"]["g_us"], of["loggp"]["G_us_per_byte"]["value"]
    sizes = [1 << k for k in range(10, 23)]
    dear = [at(gap, size) / (size * per_byte) if per_byte > 0 else 1.0 for size in sizes]
    first = next((s for s, d in zip(sizes, dear, strict=True) if d <= _EFFICIENT), sizes[-1])
    last = next((s for s, d in zip(sizes, dear, strict=True) if s >= first and d <= _SATURATED), sizes[-1])
    return first, last


def overlap_ranges(machine: Mapping[str, Any]) -> list[Document]:
    """5.3.3 (2): for each segment in range, the most of it that is copied in the time that its wire leaves (filter 1 looks
    at shares from a quarter on; what fits not even that is not worth a test)."""
    first, last = segment_range(machine["network"])
    found, segment = [], first
    while segment <= last:
        wire = at(machine["network"]["plogp"]["g_us"], segment)
        copied = [
            share
            for share in (1.0, 0.5, 0.25)
            if at(machine["shared_memory"]["put_us"], share * segment)
            + at(machine["overlap_penalty_us"], share * segment)
            <= wire
        ]
        if copied:
            found.append({"segment": segment, "overlap": [segment // 4, int(copied[0] * segment)]})
        segment *= 2
    return found


def buffers(costs: Costs) -> list[Document]:
    """5.3.1 (3), (4): bytes a second through so many buffers of one size, with the best piece and number first."""
    found = []
    for piece in PIECE_SIZES:
        for count in BUFFER_COUNTS:
            estimate = costs.estimate(Question("pipeline", "pair", piece, count))
            if estimate is not None:
                found.append({"piece_bytes": piece, "buffers": count, "us": value(estimate)})
    return sorted(found, key=lambda one: one["us"]["value"] / one["piece_bytes"])


def operations(costs: Costs) -> Document:
    """5.3.1 (5): the seven operations (section 2.4), by the source's names."""
    ways: dict[str, tuple[str, str, Sequence[int]]] = {
        "sender_put": ("put", "pair", SLOT_SIZES),
        "receiver_get": ("get", "pair", SLOT_SIZES),
        "pair_sync": ("pair_sync", "pair", (0,)),
        "group_get": ("get", "node", SEGMENT_SIZES),
        "group_seg_get": ("group_seg_get", "node", SEGMENT_SIZES),
        "group_seg_put": ("group_seg_put", "node", SEGMENT_SIZES),
    }
    made = {
        name: curve(costs, [Question(what, group, size) for size in sizes])
        for name, (what, group, sizes) in ways.items()
    }
    usual = min(waits(costs).items(), key=lambda item: item[1]["value"], default=None)
    if usual is not None:
        made["group_sync"] = {"bytes": [0], "us": [usual[1]["value"]]} | {
            name: [usual[1][name]] for name in ("low", "high")
        }
    return {name: points for name, points in made.items() if points is not None}


def waits(costs: Costs) -> Document:
    """2.5.1, A3: what a synchronisation of the node takes in each way to wait, microseconds."""
    found = {wait: costs.estimate(Question("group_sync", "node", wait=wait)) for wait in WAITS}
    return {wait: value(estimate) for wait, estimate in found.items() if estimate is not None}


def machine(
    costs: Costs,
    place: Place,
    cores: int,
    base: Mapping[str, Any],
    channel_bytes: int,
    facts: Mapping[str, Any],
) -> Document:
    """The file: what was measured in place of what the base machine has. `facts` go to `measured`."""
    made: Document = copy.deepcopy(dict(base))
    taken = []
    inside, between, card = link(costs, "pair"), link(costs, "net"), network_card(costs, place)
    penalty, fresh = overlap_penalty(costs), fresh_messages(costs)
    for key, found in (
        ("node", inside),
        ("network", between),
        ("network_card", card),
        ("overlap_penalty_us", penalty),
        ("fresh_message_us", fresh),
    ):
        if found is not None:
            made[key] = found
        elif key in made:
            taken.append(key)
    if between is not None and card is None:
        # One rank a node has the card for itself.
        made["network_card"] = {"message_us": 0, "us_per_byte": between["loggp"]["G_us_per_byte"]}
        taken.remove("network_card")
    made["cores_per_node"], made["nodes_on_cores"] = cores, place.nodes_on_cores
    made.pop("call_us", None)
    made.pop("step_us", None)
    switched = costs.estimate(Question("switch", "pair"), "switch")
    ratio = number(made.get("message_switch_us", made["switch_us"])) / number(made["switch_us"])
    if switched is not None:
        made["switch_us"] = value(switched)
    else:
        taken.append("switch_us")
    # As in the base machine, until it is known by message_switch().
    made["message_switch_us"] = rounded(ratio * number(made["switch_us"]))
    shared = shared_memory(costs, place, channel_bytes)
    taken += [f"shared_memory.{key}" for key in made["shared_memory"] if key not in shared]
    made["shared_memory"] |= shared
    made["measured"] = dict(facts) | {
        "samples": costs.count,
        "is_steady": costs.is_steady,
        "not_measured": taken,
    }
    # What the base machine's file left out is said of what was not measured.
    left = [part for part in made.pop("filled", ()) if part.split(".")[0] in taken]
    if left:
        made["filled"] = left
    made["findings"] = findings(costs, made, inside, between)
    return made


def findings(
    costs: Costs, made: Mapping[str, Any], inside: Document | None, between: Document | None
) -> Document:
    found: Document = {"operations": operations(costs), "waits_us": waits(costs), "buffers": buffers(costs)}
    for level, one in (("node", inside), ("network", between)):
        if one is not None:
            found[f"{level}_switch_point_bytes"] = switch_point(one)
            found[f"{level}_segment_bytes"] = list(segment_range(one))
    if between is not None:
        found["overlap"] = overlap_ranges(made)
    return found
