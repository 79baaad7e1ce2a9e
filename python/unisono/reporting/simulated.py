# SPDX-License-Identifier: BSD-3-Clause
"""The tables and figures of the NIC-based reduction of 2003 (N1-N10), beside what comes out in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unisono.common import tool

_SMALL, _LARGE = "quadrics-crescendo", "quadrics-alc"
_TREE = "k_nomial(degree=4)"
_ONE_PROCESS, _TWO_PROCESSES = "uniform(rate=16,mean=115{})", "uniform(rate=42,mean=115{})"
_SHARE_OF_SPARE_CORE, _SHARE_OF_BUSY_NODE = ",share=0.005", ",share=0.29"
_CALLS = 4000
_SPLITS = {2: (0, 1), 8: (0, 3), 16: (0, 4)}  # elements: none, and as many as the source names
_SPLIT_ONCE_US = 26.0  # what splitting costs once; the source does not say it
_SERIAL = (
    ("agents", "float64 sum", 8, ("--agents",), (13.22, 34.34)),
    ("agents", "two float64", 16, ("--agents",), (14.67, 51.74)),
    ("agents", "no work", 8, ("--agents", "--op", "none"), (11.72, 16.34)),
    ("hosts", "no work", 8, ("--op", "none"), (6.02, 10.64)),
)
# Work, and what agents' doubling takes beyond hosts': what their work takes more, less the 0.80 us of a PCI crossing.
_DOUBLINGS = (
    ("no work", 8, ("--type", "float64", "--op", "none"), -0.80),
    ("int32 sum", 4, ("--type", "int32", "--op", "sum"), -0.57),
    ("float64 maximum", 8, ("--type", "float64", "--op", "max"), -0.17),
    ("float64 sum", 8, ("--type", "float64", "--op", "sum"), 0.68),
)
STEPS = 6


@dataclass(frozen=True)
class Row:
    """One figure of the source. `nearness`: how far ours may be from it, as a share; None: it is not to be met, `remark` says why."""

    place: str
    what: str
    source: float | None
    ours: float
    unit: str
    nearness: float | None
    remark: str = ""

    @property
    def error(self) -> float | None:
        return self.ours / self.source - 1 if self.source else None

    @property
    def is_met(self) -> bool | None:
        if self.nearness is None or self.error is None:
            return None
        return abs(self.error) <= self.nearness + 1e-9


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{**asdict(row), "error": row.error, "is_met": row.is_met} for row in rows]


def published(seed: int, on_step: Callable[[], object]) -> list[Row]:
    """All rows; `on_step` is called STEPS times."""
    rows: list[Row] = []
    for part in (_closed_forms, _synchronisation, _doublings, _vector_split, _distributions, _two_processes):
        rows += part(seed)
        on_step()
    return rows


def _simulated(operation: str, machine: str, nodes: int, *words: str) -> dict[str, Any]:
    question = ["--operation", operation, "--machine", machine, "--layout", f"{nodes}x1", *words]
    answer: dict[str, Any] = {}
    for answer in tool.ask_lines("simulate", *question):  # noqa: B007
        pass
    return answer


def _trees(size: int, machine: str, nodes: int, *words: str) -> dict[str, Any]:
    answer: dict[str, Any] = tool.ask(
        "trees", "--layout", f"{nodes}x1", "--machine", machine, "--bytes", str(size), *words
    )
    return answer


def _closed_forms(_: int) -> list[Row]:
    rows = []
    for elements, degree in ((1, 4), (2, 2), (4, 2), (8, 2)):
        found = _trees(8 * elements, _SMALL, 31, "--agents")
        run = found["run_degree"]
        remark = (
            ""
            if run == degree
            else f"in virtual time {run}: the last subtree is ready an L sooner than the formula has it"
        )
        rows.append(
            Row(
                "figure 5.3",
                f"best degree at 31 nodes, float64 sum of {elements}",
                degree,
                found["degree"],
                "",
                0,
                remark,
            )
        )
    nothing = _trees(8, _SMALL, 31, "--agents", "--op", "none")
    rows.append(
        Row(
            "figure 4.3",
            "best degree of full trees without work, 5 to 6",
            None,
            nothing["full_degree"],
            "",
            None,
        )
    )
    return rows + [row for line in _SERIAL for row in _serial(*line)]


def _serial(who: str, what: str, size: int, words: Sequence[str], expected: Sequence[float]) -> list[Row]:
    """T_serial at two numbers of nodes; the source draws it, and its tables 4.2 and 4.3 say what is drawn."""
    return [
        Row(
            "figure 3.1",
            f"serial reduction by {who}, {nodes} nodes, {what}",
            us,
            _trees(size, _SMALL, nodes, *words)["serial_us"],
            "us",
            0.001,
        )
        for nodes, us in zip((2, 13), expected, strict=True)
    ]


def _synchronisation(_: int) -> list[Row]:
    def quiet(nodes: int, *words: str) -> float:
        common = ["--algorithm", "binomial", "--type", "int32", "--bytes", "4", "--calls", "1", *words]
        return float(_simulated("reduce", _SMALL, nodes, *common)["quiet_us"])

    host, agent = quiet(2), quiet(2, "--agents")
    rows = [
        Row(
            "figure 5.2",
            "agents over hosts at 2 nodes",
            2,
            agent / host,
            "times",
            0.1,
            "the source: about twice",
        ),
        Row(
            "figure 5.2", "agents less hosts at 2 nodes", 5, agent - host, "us", 0.2, "the source: about 5 us"
        ),
    ]
    for nodes in (2, 4, 32):
        host, agent = quiet(nodes), quiet(nodes, "--agents")
        left = (quiet(nodes, "--agents", "--hosts-at-ends") - host) / (agent - host)
        remark = (
            ""
            if nodes == 2
            else "the source: about half; how C is divided, 9.0 and 0.2 us, is fitted to these rows"
        )
        rows.append(
            Row(
                "figure 5.2",
                f"overhead left with hosts at the ends, {nodes} nodes",
                0.0 if nodes == 2 else 0.5,
                left,
                "",
                None if nodes == 2 else 0.25,
                remark,
            )
        )
    return rows


def _doublings(_: int) -> list[Row]:
    """What twice as many nodes cost, from 16 to 512 of them."""

    def grown(*words: str) -> float:
        first, last = (
            float(
                _simulated("reduce", _SMALL, nodes, "--algorithm", "binomial", "--calls", "1", *words)[
                    "quiet_us"
                ]
            )
            for nodes in (16, 512)
        )
        return (last - first) / 5

    return [
        Row("figure 5.4", f"agents less hosts for each doubling, {what}", us,
            grown("--bytes", str(size), *words, "--agents") - grown("--bytes", str(size), *words), "us", 0.05,
            "from table 4.3; the source: work of less than 0.80 us scales better by agents")
        for what, size, words, us in _DOUBLINGS
    ]  # fmt: skip


def _vector_split(_: int) -> list[Row]:
    def best(elements: int, splits: int) -> float:
        name = f"vector_split(splits={splits},degree={{}})" if splits else "k_nomial(degree={})"
        return min(
            float(
                _simulated(
                    "reduce", _LARGE, 512, "--agents", "--algorithm", name.format(degree), "--bytes", str(8 * elements),
                    "--calls", "1",
                )["quiet_us"]
            )
            for degree in (2, 4)
        )  # fmt: skip

    times = {elements: [best(elements, splits) for splits in tried] for elements, tried in _SPLITS.items()}
    whole, split = ({n: at[i] for n, at in times.items()} for i in (0, 1))
    split = {elements: us + _SPLIT_ONCE_US for elements, us in split.items()}
    fitted = f"splitting costs {_SPLIT_ONCE_US:g} us once, fitted to this row"
    return [
        Row("figure 5.1", "gain of 3 splits, 8 elements", 3, whole[8] / split[8], "times", 0.2,
            "the source: nearly three"),
        Row("figure 5.1", "gain of 4 splits, 16 elements", 3.5, whole[16] / split[16], "times", 0.2,
            "the source: over three, taken as 3 to 4"),
        Row("figure 5.1", "16 elements after 4 splits", 140, split[16], "us", 0.1),
        Row("figure 5.1", "gain of 1 split, 2 elements", 1, whole[2] / split[2], "times", 0.02,
            f"the source: slightly below one; {fitted}"),
    ]  # fmt: skip


def _of_hosts(nodes: int, noise: str, size: int, seed: int) -> dict[str, Any]:
    words = [
        "--broadcast",
        "--algorithm",
        _TREE,
        "--noise",
        noise,
        "--calls",
        str(_CALLS),
        "--seed",
        str(seed),
    ]
    kind = ["--type", "int32" if size == 4 else "float64", "--bytes", str(size)]
    return _simulated("allreduce", _LARGE, nodes, *words, *kind)


def _of_agents(nodes: int, noise: str, size: int, seed: int) -> dict[str, Any]:
    words = ["--agents", "--algorithm", _TREE, "--noise", noise, "--calls", str(_CALLS), "--seed", str(seed)]
    kind = ["--type", "int32" if size == 4 else "float64", "--bytes", str(size)]
    return _simulated("reduce", _LARGE, nodes, *words, *kind)


def _share_within(answer: dict[str, Any], us: int) -> float:
    return next(float(one["share"]) for one in answer["distribution"]["windows"] if one["us"] == us)


def _distributions(seed: int) -> list[Row]:
    host = _of_hosts(900, _ONE_PROCESS.format(""), 8, seed)
    agent = _of_agents(900, _ONE_PROCESS.format(_SHARE_OF_SPARE_CORE), 8, seed)
    on_host, on_agent = host["distribution"], agent["distribution"]
    fitted = "floating point on the card is fitted to this figure"
    why = (
        "a daemon that takes a core at the begin delays hosts and agents alike; only noise that hardly meets a host "
        "which waits gives so little, and then the longest hundredth holds all of it"
    )
    return [
        Row("table 5.1", "hosts, mean", 89.30, on_host["trimmed"]["mean_us"], "us", 0.06, "noise is fitted to this figure"),
        Row("table 5.1", "hosts, standard deviation", 65.26, on_host["trimmed"]["deviation_us"], "us", 0.1),
        Row("table 5.1", "agents, mean", 73.67, on_agent["trimmed"]["mean_us"], "us", 0.06, fitted),
        Row("table 5.1", "agents, standard deviation", 0.29, round(on_agent["trimmed"]["deviation_us"], 6), "us", None, why),
        Row("figure 5.5", "hosts within 20 us", 0.57, _share_within(host, 20), "", 0.15),
        Row("figure 5.5", "agents within 4 us", 0.97, _share_within(agent, 4), "", 0.05),
        Row("figure 5.5", "hosts, least over mean", 1 / 3, on_host["least_us"] / on_host["mean_us"], "", 0.06),
    ]  # fmt: skip


def _two_processes(seed: int) -> list[Row]:
    def mean(answer: dict[str, Any]) -> float:
        return float(answer["distribution"]["mean_us"])

    noise = _TWO_PROCESSES
    host = {size: mean(_of_hosts(906, noise.format(""), size, seed)) for size in (4, 8)}
    agent = {size: mean(_of_agents(906, noise.format(_SHARE_OF_BUSY_NODE), size, seed)) for size in (4, 8)}
    return [
        Row("figure 5.6", "hosts, int32", 161.3, host[4], "us", 0.06, "the rate of the noise is fitted to the mean of both"),
        Row("figure 5.6", "hosts, float64", 164.0, host[8], "us", 0.06),
        Row("figure 5.6", "agents, int32", 73, agent[4], "us", 0.06, "the share that meets a waiting host is fitted to this"),
        Row("figure 5.6", "agents, float64", 118, agent[8], "us", 0.1),
        Row("figure 5.6", "improvement, int32", 1.21, host[4] / agent[4] - 1, "", 0.15),
        Row("figure 5.6", "improvement, float64", 0.39, host[8] / agent[8] - 1, "", None,
            "a difference of two figures that are each within 10 %"),
    ]  # fmt: skip
