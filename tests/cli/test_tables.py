# SPDX-License-Identifier: BSD-3-Clause
"""Tables on narrow terminals: names stay readable, and columns that can be spared give way."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from unisono.common import printing

COLUMNS = ["operation", "time", "of native", "looked at", "algorithm"]
ROWS = [
    ["reduce_scatter_block", "123 us", "1.00", "12", "two_level_ring(segment=65536,window=2)"],
    ["bcast", "1 us", "2.00", "3", "a[b]"],
]


def printed(width: int) -> list[str]:
    out = io.StringIO()
    printing.print_rows(
        Console(file=out, width=width),
        "Title",
        COLUMNS,
        ROWS,
        right=("time", "of native", "looked at"),
        whole=("operation",),
        give_way=("looked at", "of native"),
    )
    return out.getvalue().splitlines()


def test_what_fits_is_whole() -> None:
    text = "\n".join(printed(120))
    assert ROWS[0][-1] in text and "looked at" in text and "Left out" not in text
    assert "a[b]" in text, "brackets are no markup"


@pytest.mark.parametrize(
    ("width", "hidden"), [(80, []), (70, ["looked at"]), (55, ["looked at", "of native"])]
)
def test_columns_give_way_before_names_are_broken_to_pieces(width: int, hidden: list[str]) -> None:
    lines = printed(width)
    assert max(map(len, lines)) <= width
    (row,) = [line for line in lines if line.startswith("reduce_scatter_block")]
    name = row.split()[-1]
    assert ROWS[0][-1].startswith(name) and len(name) >= 20
    assert "123 us" in row
    said = " ".join(lines).partition("columns: ")[2]
    assert " ".join(said.split()) == ", ".join(hidden)
    assert {name for name in COLUMNS if name not in lines[1]} == set(hidden)
