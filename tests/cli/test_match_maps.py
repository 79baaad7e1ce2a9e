# SPDX-License-Identifier: BSD-3-Clause
"""Heat maps of `unisono match report`: which cells a trace of known searches has, as text and on a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Stage, needs_build
from unisono.reporting import matching_text

# Rank 0 looks at 5.5 elements for a message from rank 1 in the mean of ten, and at 1 for the one from rank 3.
# Rank 2 looks at 2 in the mean of three from rank 0.
_PEERS = {0: [[1, 10, 20, 55], [3, 1, 1, 1]], 2: [[0, 3, 6, 6]]}


def _answer(ranks: int) -> dict[str, object]:
    return {"ranks": ranks, "of_ranks": [{"rank": rank, "peers": peers} for rank, peers in _PEERS.items()]}


def _trace(ranks: int, receivers: tuple[int, int], senders: tuple[int, int, int]) -> str:
    """The searches of _PEERS: ten receives whose messages come in reverse, one alone, three messages received in reverse."""
    many, one, back = senders
    posted = [f"post {i} {i} {many} {i} 0 8" for i in range(10)]
    posted += [f"arrive {20 + i} {many} {9 - i} 0 8" for i in range(10)]
    posted += [f"post 40 10 {one} 7 0 8", f"arrive 41 {one} 7 0 8"]
    unexpected = [f"arrive {i} {back} {i} 0 8" for i in range(3)]
    unexpected += [f"post {10 + i} {i} {back} {2 - i} 0 8" for i in range(3)]
    lines = [f"unisono-message-trace 1\nranks {ranks}\nmpi MPICH 5.0.1"]
    for rank, of_rank in zip(receivers, (posted, unexpected), strict=True):
        lines += [f"rank {rank}", "run 1000", *of_rank]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("ranks", "most_cells", "each", "rows"),
    [
        (4, 32, 1, [[-1, 5.5, -1, 1], [-1] * 4, [2, -1, -1, -1], [-1] * 4]),
        (4, 4, 1, [[-1, 5.5, -1, 1], [-1] * 4, [2, -1, -1, -1], [-1] * 4]),
        (4, 3, 2, [[5.5, 1], [2, -1]]),
        # What falls into one cell is a mean over messages, not over pairs.
        (5, 2, 3, [[(55 + 6) / (10 + 3), 1], [-1, -1]]),
        (4, 1, 4, [[62 / 14]]),
    ],
)
def test_cells_are_means_over_messages(
    ranks: int, most_cells: int, each: int, rows: list[list[float]]
) -> None:
    assert matching_text.heat_map(_answer(ranks), most_cells) == (each, rows)


@needs_build
def test_text_has_a_letter_for_each_pair(stage: Stage, built: dict[str, str]) -> None:
    file = stage.work / "known.trace"
    file.write_text(_trace(4, (0, 2), (1, 3, 0)))
    lines = stage.unisono("match", "report", str(file), environment=built).stdout.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("Elements looked at for each message"))
    assert "1 rank a letter; @ is 5.5, a space: no message" in lines[start]
    # Nine shades from 0 to the most: 1 is the second, 2 the fourth.
    assert [line.rstrip() for line in lines[start + 1 : start + 4]] == ["     0  @ :", "     2 =", ""]


@needs_build
def test_text_of_many_ranks_has_several_in_a_letter(stage: Stage, built: dict[str, str]) -> None:
    file = stage.work / "many.trace"
    file.write_text(_trace(64, (1, 63), (62, 0, 2)))
    lines = stage.unisono("match", "report", str(file), environment=built).stdout.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("Elements looked at for each message"))
    assert "2 ranks a letter" in lines[start]
    assert [line.rstrip() for line in lines[start + 1 : start + 4]] == [
        f"     0 :{' ' * 30}@",
        "    62  =",
        "",
    ]


def _cells_of_page(page: Path) -> dict[str, tuple[float, ...]]:
    """By what a cell says: where it begins, its size, and how dark it is."""
    found = re.findall(
        r'<rect x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)" fill="currentColor" fill-opacity="([^"]+)">'
        r"<title>(to [^<]+)</title>",
        page.read_text(),
    )
    return {tip: tuple(map(float, numbers)) for *numbers, tip in found}


@needs_build
def test_page_has_a_cell_for_each_pair(stage: Stage, built: dict[str, str]) -> None:
    (stage.work / "known.trace").write_text(_trace(4, (0, 2), (1, 3, 0)))
    words = ("match", "report", "known.trace", "--html", "known.html")
    answer = stage.unisono(*words, environment=built)
    assert answer.returncode == 0, answer.stderr
    assert _cells_of_page(stage.work / "known.html") == {
        "to 0 from 1: 5.5 elements a message": (120, 0, 120, 120, 1),
        "to 0 from 3: 1.0 elements a message": (360, 0, 120, 120, 0.28),
        "to 2 from 0: 2.0 elements a message": (0, 240, 120, 120, 0.44),
    }
    assert "The darkest cell is 5.5." in (stage.work / "known.html").read_text()


@needs_build
def test_page_of_many_ranks_has_several_in_a_cell(stage: Stage, built: dict[str, str]) -> None:
    (stage.work / "many.trace").write_text(_trace(256, (1, 255), (254, 0, 2)))
    words = ("match", "report", "many.trace", "--html", "many.html")
    answer = stage.unisono(*words, environment=built)
    assert answer.returncode == 0, answer.stderr
    assert _cells_of_page(stage.work / "many.html") == {
        "to 0 from 254: 5.5 elements a message": (476.25, 0, 3.75, 3.75, 1),
        "to 0 from 0: 1.0 elements a message": (0, 0, 3.75, 3.75, 0.28),
        "to 254 from 2: 2.0 elements a message": (3.75, 476.25, 3.75, 3.75, 0.44),
    }
    assert "each stands for 2 ranks or less" in (stage.work / "many.html").read_text()
