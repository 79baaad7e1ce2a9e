# SPDX-License-Identifier: BSD-3-Clause
"""What `unisono predict --model mixed` prints: the equations of section 4.5 beside the run in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unisono.common import printing, units
from unisono.common.fitted_table import FittedTable

_EQUATIONS = ("4.3", "4.4", "4.5", "4.6")
# In words, and the equation that gives its time.
_MODES = {"overlapping": "4.3", "complete overlapping": "4.4", "penalty": "4.5"}
LEGEND = (
    "m_i: a segment; m_s: what of it goes through shared memory beside messages. "
    "4.3: copies too long to hide behind messages; 4.4: complete overlapping, the lower bound; 4.5: copies delay messages; "
    "4.6: the upper bound"
)


def table(title: str, predictions: Sequence[dict[str, Any]]) -> FittedTable:
    """Settings by the time that their mode's equation gives, fastest first."""
    right = (*_EQUATIONS, "expected", "virtual")
    made = printing.table(
        title,
        *("m_i/m_s", *_EQUATIONS, "by", "expected", "virtual"),
        right=right,
        give_way=("virtual", "by"),
    )
    for one in predictions:
        if one["us"] is None:
            continue
        terms, equations = one["terms"], one["equations"]
        made.add_row(
            f"{_size(terms['m_i'])}/{_size(terms['m_s'])}",
            *(_time(equations[number]) for number in _EQUATIONS),
            _MODES[one["mode"]],
            _time(one["us"]),
            _time(one["virtual_us"]),
        )
    return made


def terms_text(prediction: dict[str, Any]) -> str:
    """What the first row's equations are made of."""
    terms = prediction["terms"]
    said = {
        "L": "L_us",
        "g(m_i)": "g_us",
        "os(m_i)": "os_us",
        "smcc(m_s)": "smcc_s_us",
        "smcc(m_r)": "smcc_r_us",
        "ovp(m_s)": "ovp_us",
        "messages alone": "inter_node_us",
    }
    return f"The first row's terms: k {units.count_text(terms['k'])}, " + ", ".join(
        f"{name} {_time(terms[key])}" for name, key in said.items()
    )


def _size(count: int) -> str:
    """As options take it: 64K."""
    return units.bytes_text(count).removesuffix("iB").replace(" ", "")


def _time(us: float | None) -> str:
    return "" if us is None else units.seconds_text(us * 1e-6)
