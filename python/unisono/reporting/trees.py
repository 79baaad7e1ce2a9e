# SPDX-License-Identifier: BSD-3-Clause
"""What `unisono predict --model serial` and `--model fnomial` print: the closed forms of reductions along trees (N6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unisono.common import printing, units
from unisono.common.fitted_table import FittedTable


def serial_table(answer: Mapping[str, Any]) -> FittedTable:
    """T_serial by numbers of ranks: where it was measured, and where it was asked for."""
    made = printing.table(
        _title(answer, "serial reduction"),
        *("ranks", "T_serial", "measured"),
        right=("ranks", "T_serial", "measured"),
    )
    rows = {one["ranks"]: (one["serial_us"], one["us"]) for one in answer.get("fit", {}).get("times", ())}
    rows.setdefault(answer["ranks"], (answer["serial_us"], None))
    for ranks, (us, measured) in sorted(rows.items()):
        made.add_row(units.count_text(ranks), _time(us), "" if measured is None else _time(measured))
    return made


def degrees_table(answer: Mapping[str, Any]) -> FittedTable:
    """T_fnomial by degree: full, refined, and the tree's own program in virtual time."""
    columns = ("degree", "full", "refined", "virtual", "remark")
    made = printing.table(_title(answer, "f-nomial trees"), *columns, right=columns[:-1])
    for one in answer["degrees"]:
        remarks = ["best refined"] if one["degree"] == answer["degree"] else []
        remarks += ["best in virtual time"] if one["degree"] == answer["run_degree"] else []
        times = (_time(one[key]) for key in ("full_us", "refined_us", "run_us"))
        made.add_row(str(one["degree"]), *times, ", ".join(remarks))
    return made


def terms_text(answer: Mapping[str, Any]) -> str:
    """What the equations are made of, and where that comes from."""
    terms = ", ".join(f"{name} {_time(answer[f'{name}_us'])}" for name in ("C", "L", "r", "c"))
    fit = answer.get("fit")
    if fit is None:
        source = (
            "all of them follow from the machine's messages: it has no serial reductions that were measured"
        )
    else:
        whose = "measured on the machine" if fit["is_measured"] else "given"
        source = (
            f"r + c and C + L are fitted to serial reductions of {units.bytes_text(fit['bytes'])} that were {whose}; the line is "
            f"at most {fit['largest_error']:.0%} off"
        )
    return f"{terms}; {source}."


def degree_text(answer: Mapping[str, Any]) -> str:
    """The degree of full trees."""
    return f"f (ln f - 1) = L / (r + c) - 1 is best for full trees: f = {answer['full_degree']:.2f}"


def _title(answer: Mapping[str, Any], what: str) -> str:
    return (
        f"reduce of {units.bytes_text(answer['bytes'])} on {units.count_text(answer['ranks'])} ranks: {what}; "
        f"machine {answer['machine']}"
    )


def _time(us: float) -> str:
    return units.seconds_text(us * 1e-6)
