# SPDX-License-Identifier: BSD-3-Clause
"""Queues of messages, as the compiled tool knows them: what each structure costs, and whether that matters to a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unisono.common import tool, units
from unisono.common.errors import UnisonoError
from unisono.measuring import matching_bench

STANDARD_NS = 5.0  # what MPIs took for each element that were measured with long queues
_ASSUMED = "assumed"
WORTH_IT = 0.05  # of a rank's time: less than that is not worth a change
SOME_TIMES = 5  # as much as is assumed may an element cost: MPIs were seen to take 2 to 20 ns and more on busy machines
WORTH_IT_S = 0.05  # of a rank's time: the start of Unisono may take as much where ranks share cores
Progress = Callable[[float, str], None]


def ask(question: str, words: Sequence[str], progress: Progress) -> list[dict[str, Any]]:
    """The lines that the tool answers with."""
    lines = []
    for line in tool.ask_lines(question, "--progress", *words):
        if "progress" in line:
            progress(line["progress"], line["now"])
        else:
            lines.append(line)
    return lines


def require_messages(file: Path, rank: str | None, ranks: int, counts: Mapping[str, int]) -> None:
    """A trace without any is an error, since all that is said of it would be empty."""
    if ranks:
        return
    if rank is not None:
        raise UnisonoError(f"{file} has no messages to ranks {rank}, and no receives of theirs")
    left_out = counts.get("left-out", 0)
    more = f"; {units.count_text(left_out)} went to other jobs, and are not recorded" if left_out else ""
    raise UnisonoError(
        f"no messages were recorded in {file}: the program sent and received none by itself "
        f"(those inside of collectives are not seen){more}"
    )


@dataclass(frozen=True)
class Cost:
    """What looking at one element of each queue takes, and where that comes from."""

    posted_ns: float
    unexpected_ns: float
    text: str


def cost_of_element(file: Path, given_ns: float | None) -> Cost:
    """Of the MPI of this trace: as it is given, as it was measured for that MPI, or else assumed."""
    if given_ns is not None:
        return Cost(given_ns, given_ns, "as given")
    known = matching_bench.kept_costs().get(_mpi_of(file))
    queues = known.get("ns") if isinstance(known, dict) else None
    if isinstance(known, dict) and isinstance(queues, dict):
        found = {
            queue: float(ns)
            for queue, ns in queues.items()
            if isinstance(ns, (int, float)) and 0.001 <= ns <= 1000
        }
        if found:  # of a queue that was not measured the other one tells
            one = next(iter(found.values()))
            posted, unexpected = (found.get(queue, one) for queue in ("posted", "unexpected"))
            return Cost(posted, unexpected, f"measured on this MPI on {known.get('date')}")
    return Cost(STANDARD_NS, STANDARD_NS, f"{_ASSUMED}; `unisono match bench -- mpirun -n 2` measures it")


def element_text(ns: Mapping[str, float]) -> str:
    """`5 ns`, or what an element of each queue takes."""
    posted, unexpected = (f"{ns[queue]:.3g} ns" for queue in ("posted", "unexpected"))
    return posted if posted == unexpected else f"{posted} of receives and {unexpected} of messages"


def _mpi_of(file: Path) -> str:
    """Of a trace's first lines. None where they cannot be read, or might be waited for: the compiled tool says why."""
    if not file.is_file():
        return ""
    try:
        with file.open("rb") as stream:
            for line in stream.read(4096).splitlines():
                if line.startswith(b"mpi "):
                    return line[4:].decode("utf-8", "replace").strip()
    except OSError:
        pass
    return ""


@dataclass(frozen=True)
class Share:
    """What looking through queues has cost a rank, of its time in the run, low and high, and what Unisono's own would take."""

    rank: int
    low: float
    high: float
    own: float
    run_s: float


def shares(answer: dict[str, Any]) -> list[Share]:
    """Of all ranks whose run was timed, most first."""
    found = []
    for one in answer["of_ranks"]:
        if not one["run_ns"]:
            continue
        costs = sorted((one["low"]["present_ns"], one["high"]["present_ns"]))
        own = max(one["low"]["own_ns"], one["high"]["own_ns"])
        low, high, own = (cost / one["run_ns"] for cost in (*costs, own))
        found.append(Share(one["rank"], low, high, own, 1e-9 * one["run_ns"]))
    return sorted(found, key=lambda share: (-share.high, share.rank))


def range_text(low: float, high: float, text: Callable[[Any], str]) -> str:
    """`low - high`, or one of them where they look alike."""
    first, last = text(min(low, high)), text(max(low, high))
    return first if first == last else f"{first} - {last}"


def percent_text(share: float) -> str:
    if share > 1:
        return "all"
    if 0 < share < 0.0005:
        return "less than 0.1 %"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def option(answer: dict[str, Any]) -> str:
    """What would have Unisono carry the messages of this run."""
    return "--messages all" if answer["several_nodes"] else "--messages node"


def verdict(answer: dict[str, Any]) -> str:
    """Leave it, or turn it on; then what that rests on, where it is not sure."""
    return _cut_short(answer) + _advice(answer) + _doubt(answer)


def _cut_short(answer: dict[str, Any]) -> str:
    """Where the trace has the beginning of the run alone."""
    if not answer.get("full_ranks"):
        return ""
    return (
        f"Record again with more memory (`--record-bytes`): it was full on {units.counted(answer['full_ranks'], 'rank')} before "
        "the run ended. What was recorded says: "
    )


def _doubt(answer: dict[str, Any]) -> str:
    """Of what an element costs."""
    timed = [] if answer["present"] == "own" else shares(answer)
    if not timed:
        return ""
    cost = f"{element_text(answer['ns_per_element'])} for an element"
    if timed[0].high > 1:
        bound = "the shares come to" if timed[0].low > 1 else "the upper bound comes to"
        return (
            f" This is not credible: with {cost} ({answer.get('cost', 'as given')}) {bound} {100 * timed[0].high:.0f} % of that "
            "time. A cost is too high that `unisono match bench` has measured on a busy machine: measure it again by "
            "`unisono match bench -- LAUNCHER`."
        )
    if _is_assumed(answer) and timed[0].high - timed[0].own < WORTH_IT and not _is_near(timed[0]):
        return f" This rests on {cost}, which is assumed: `unisono match bench -- LAUNCHER` measures it."
    return ""


def _is_assumed(answer: dict[str, Any]) -> bool:
    return str(answer.get("cost", "")).startswith(_ASSUMED)


def _is_near(worst: Share) -> bool:
    """Would it matter if elements cost some times as much?"""
    share = SOME_TIMES * worst.high - worst.own
    return worst.high < WORTH_IT <= share and share * worst.run_s >= WORTH_IT_S


def _advice(answer: dict[str, Any]) -> str:
    """Leave it, or turn it on."""
    if answer["present"] == "own":
        of_the_mpi = answer["receives_by"]["mpi"]
        if not of_the_mpi:
            return "Leave it: the run had Unisono's own queues (`--messages`) already."
        share = of_the_mpi / (of_the_mpi + answer["receives_by"]["unisono"])
        return (
            "Leave it: the run had Unisono's own queues (`--messages`) already, but for "
            f"{percent_text(share)} of its receives, whose communicators are the MPI's."
        )
    timed = shares(answer)
    if not timed:
        return "The trace does not say how long the run took, so that shares of it are not known."
    worst = timed[0]
    said = f"{range_text(worst.low, worst.high, percent_text)} of rank {worst.rank}'s time"
    if _is_assumed(answer) and _is_near(worst):
        return (
            f"Measure first: queues take {said} where an element takes {STANDARD_NS:g} ns. That is assumed, and it may be some times "
            "as much: `unisono match bench -- LAUNCHER` measures it, and then this report knows."
        )
    if worst.high < WORTH_IT:
        others = ", and no more of the others'" if len(timed) > 1 else ""
        return f"Leave it: queues take {said}{others}."
    if worst.high - worst.own < WORTH_IT:
        own = percent_text(worst.own)
        return f"Leave it: queues take {said}, and Unisono's own would take {own}, nearly as much."
    saved_s = (worst.high - worst.own) * worst.run_s
    if saved_s < WORTH_IT_S:
        return (
            f"Leave it: queues take {said}, but that run took {units.seconds_text(worst.run_s)}, and at most "
            f"{units.seconds_text(saved_s)} would be saved. If the program runs longer otherwise, record such a run."
        )
    if worst.low - worst.own < WORTH_IT:
        first = f"Try it: queues take between little and much, {said}. Compare a run with"
    else:
        first = f"Turn it on: {said}. Run with"
    several = ": the ranks are on several nodes, and `--messages node` helps on communicators inside one"
    return f"{first} `{option(answer)}`{several if answer['several_nodes'] else ''}."
