# SPDX-License-Identifier: BSD-3-Clause
"""From samples to the parameters of the models (A7, G1), with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unisono.common.extras import numpy as np
from unisono.common.units import MIB
from unisono.machine.costs import (
    CALLS,
    CARD_SIZES,
    COPY_SIZES,
    DISTANCES,
    FAR_BYTES,
    FRESH_SIZES,
    FUSED_CALL,
    FUSED_LINES,
    FUSED_SIZES,
    MESSAGE_CALLS,
    OVERLAP_SIZES,
    SERIAL_CHILDREN,
    SERIAL_SIZES,
    SLOT_SIZES,
    Costs,
    Estimate,
    Question,
    message_question,
)
from unisono.machine.values import US, Document, Draws, curve, from_draws, rounded, value
from unisono.measuring.measurer import Place


def link(costs: Costs, group: str) -> Document | None:
    """Messages of the host MPI on one level, for all models."""
    sizes = costs.sizes("ping_pong", group)
    if not sizes:
        return None
    ping_pong, overheads, gaps = (
        [Question(what, group, size) for size in sizes] for what in ("ping_pong", "overheads", "gap")
    )
    draws = Draws(costs)
    hockney = draws.line(ping_pong, "half")
    large = draws.line(gaps, "gap")
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


def serial_reductions(costs: Costs) -> list[Document]:
    """Times of serial reductions (N6, section 4.1) from the moment on at which the last child may send, by their number. What is
    measured begins when the root has told them so, half an empty round trip earlier."""
    draws = Draws(costs)
    found = []
    for group, level in (("pair", "node"), ("node", "node"), ("net", "network")):
        told = (Question("ping_pong", "net" if group == "net" else "pair"), "half")
        for size in SERIAL_SIZES:
            asked = {children: Question("serial", group, size, children) for children in SERIAL_CHILDREN}
            times = {
                children: value
                for children, question in asked.items()
                if (value := draws.value(lambda t, half: np.maximum(0, t - half), (question, "time"), told))
            }
            if len(times) < 2:
                continue
            columns = {
                name: [float(time[of]) for time in times.values()]
                for name, of in (("us", "value"), ("low", "low"), ("high", "high"))
            }
            found.append({"level": level, "bytes": size, "children": list(times), **columns})
    return found


def _per_line(small: Any, longer: Any) -> Any:
    """Of two fused allreduces; a line is on the way of both ranks: written and read."""
    return np.maximum(0, longer - small) / (2 * (FUSED_LINES[1] - FUSED_LINES[0]))


def distances(costs: Costs) -> list[Document]:
    """What it takes to fetch what a rank of another domain has written, by what lies between."""
    draws = Draws(costs)
    near = (Question("get", "pair", FAR_BYTES), "time")
    found = []
    for across in DISTANCES:
        small, longer = ((Question("allreduce", across, size), "time") for size in FUSED_SIZES[:2])
        line = draws.value(_per_line, small, longer)
        far = (Question("get", across, FAR_BYTES), "time")
        byte = draws.value(lambda t, own: np.maximum(0, t - own) / FAR_BYTES, far, near)
        if line is not None and byte is not None:
            found.append({"across": across, "line_us": line, "us_per_byte": byte})
    return found


def shared_memory(costs: Costs, place: Place, channel_bytes: int) -> Document:
    """The operations on the node's shared memory; keys are left out where nothing was measured."""
    draws = Draws(costs)
    pair_sync, signal, awaiting, barrier = (
        (Question(what, "pair"), "time") for what in ("pair_sync", "signal", "await", FUSED_CALL)
    )
    small, longer = ((Question("allreduce", "pair", size), "time") for size in FUSED_SIZES[:2])
    found: Document = {
        "signal_us": draws.value(lambda t: t, signal),
        "await_us": draws.value(lambda t: t, awaiting),
        "flag_us": draws.value(lambda sync, s, a: np.maximum(0, sync - s - a), pair_sync, signal, awaiting),
        "line_us": draws.value(_per_line, small, longer),
        "fused_us": draws.value(
            lambda whole, a, b, sync, s, w: np.maximum(0, whole - 2 * _per_line(a, b) - (sync - s - w)),
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
    found["distances"] = distances(costs) or None
    return {key: what for key, what in found.items() if what is not None}


def calls(costs: Costs, predicted: Mapping[tuple[str, int], tuple[float, float]]) -> Document:
    """call_us and step_us: what is left of collectives by shared memory when their operations are taken off, by least squares
    over the steps of a rank. `predicted`: microseconds and steps of each by the model, with neither of the two."""
    draws = Draws(costs)
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
    """message_switch_us: of the values tried, the one by which MESSAGE_CALLS are predicted best. That one has
    the least sum of the logarithms' errors, since one call alone may go in step with the turns. The interval
    is that of the calls' own. `predicted`: microseconds by the value tried."""
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
    return _differences(
        costs,
        FRESH_SIZES,
        lambda fresh, usual: np.maximum(0, fresh - usual),
        lambda size: [(Question(what, "pair", size), "half") for what in ("fresh", "ping_pong")],
    )


def network_card(costs: Costs, place: Place) -> Document | None:
    """What several pairs between two nodes at once take, a message of all of them together."""
    pairs = place.ranks_per_node[0]
    questions = [Question("gap", "nets", size) for size in CARD_SIZES]
    found = Draws(costs).line(questions, "gap")
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
    draws = Draws(costs)
    values = [(size, draws.value(of, *series(size))) for size in sizes]
    known = [(size, one) for size, one in values if one is not None]
    if not known:
        return None
    rows = {"us": "value", "low": "low", "high": "high"}
    return {"bytes": [size for size, _ in known]} | {
        row: [one[name] for _, one in known] for row, name in rows.items()
    }
