# SPDX-License-Identifier: BSD-3-Clause
"""Shares of the tests: with `--share K/N` a run has one of N, and other runs have the others.

Of a test that has several MPIs or parameters each share has every N-th combination, but at least one. What has the marker
`dear` is in one share alone, and `dear(NAME)` in the same one as all others of that name.
"""

from __future__ import annotations

import zlib
from collections import defaultdict

import pytest


def share(text: str) -> tuple[int, int]:
    """Return which share of how many, of "1/2"."""
    number, of = (int(word) for word in text.split("/"))
    if not 1 <= number <= of:
        raise ValueError(text)
    return number, of


def others_share(items: list[pytest.Item], number: int, of: int) -> list[pytest.Item]:
    """Return what shares of `of` others than the given one have.

    Each test begins with another combination, so that no MPI has more of a share than the others. Dear ones go round, as
    they come: those of a file are in several shares.
    """
    tests: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    left: list[pytest.Item] = []
    places: dict[str, int] = {}
    for item in items:
        marker = item.get_closest_marker("dear")
        if marker is not None:
            place = places.setdefault(marker.args[0] if marker.args else item.nodeid, len(places))
            left += [item] if place % of != number - 1 else []
        elif hasattr(item, "callspec"):
            tests[item.nodeid.split("[")[0]].append(item)
    for name, combinations in tests.items():
        turns = min(of, len(combinations))
        own = (number - 1 + zlib.crc32(name.encode())) % turns
        left += [item for place, item in enumerate(combinations) if place % turns != own]
    return left


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--share",
        type=share,
        metavar="K/N",
        help="of each test that has several parameters, select every N-th combination, from the K-th on; of dear tests every N-th",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "dear(name): takes long: one share alone (--share) has it, with all others of that name"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--share"):
        left = set(others_share(items, *config.getoption("--share")))
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.config.getoption("--share"):
        number, of = terminalreporter.config.getoption("--share")
        terminalreporter.write_line(
            f"share {number} of {of} of the tests that have several parameters, or take long"
        )
