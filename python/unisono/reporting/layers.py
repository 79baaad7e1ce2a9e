# SPDX-License-Identifier: BSD-3-Clause
"""What `unisono predict --model layers` prints: two-level algorithms without overlap as the sum of their layers (section 4.3.3)
beside the run in virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unisono.common import printing, units
from unisono.common.fitted_table import FittedTable


def table(title: str, predictions: Sequence[Mapping[str, Any]]) -> FittedTable:
    """Settings by the sum, fastest first; in brackets each layer's share of it."""
    made = printing.table(
        title,
        *("algorithm", "layers", "sum", "virtual", "sum over virtual"),
        right=("sum", "virtual", "sum over virtual"),
        give_way=("layers", "virtual"),
    )
    for one in predictions:
        if one["us"] is None:
            continue
        ratio = f"{one['us'] / one['virtual_us']:.2f}" if one["virtual_us"] else ""
        layers = ", ".join(_layer(layer, one["us"]) for layer in one["layers"])
        made.add_row(one["text"], layers, _time(one["us"]), _time(one["virtual_us"]), ratio)
    return made


def _layer(layer: Mapping[str, Any], sum_us: float) -> str:
    where = "between nodes" if layer["between_nodes"] else "inside"
    share = f" ({layer['us'] / sum_us:.0%})" if sum_us > 0 else ""
    return f"{layer['operation']} {where} {_time(layer['us'])}{share}"


def _time(us: float | None) -> str:
    return "" if us is None else units.seconds_text(us * 1e-6)
