# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the tests under real MPIs."""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import again
import harness
import mpis
import pytest
from demonstration.programs import COMPILER_FLAGS
from harness import Cluster, Runner
from mpis import Mpi

# Tables are as wide as in a file, whatever terminal the tests (or a worker of theirs) believe in.
os.environ.pop("COLUMNS", None)


# How runs share the tests (--share).
pytest_plugins = ["shares"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--allow-missing", action="store_true", help="skip MPIs that are not installed instead of failing"
    )
    parser.addoption("--every-turn", action="store_true", help="select all that tests take turns with, too")
    parser.addoption("--alone", choices=["only", "not"], help="select tests by the marker 'alone', beside -m")


def is_library_again(item: pytest.Item) -> bool:
    """Whether the test is one of each library, and this its turn on a library's second ABI."""
    if item.get_closest_marker("each_library") is None:
        return False
    parameters = (
        item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )
    names = {parameters.get("mpi"), parameters.get("cluster_mpi")}
    return any(mpi.name in names for mpi in mpis.ALL if mpi.is_standard_abi)


class Turns:
    """Of tests whose MPIs and parameters take turns (marker in_turns): which combinations are another's."""

    def __init__(self) -> None:
        self.values: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def number(self, item: pytest.Function, name: str) -> int:
        """Return which of the parameter's values the item has, as they come."""
        values = self.values[item.nodeid.split("[")[0], name]
        value = repr(item.callspec.params[name])
        if value not in values:
            values.append(value)
        return values.index(value)

    def is_anothers(self, item: pytest.Item) -> bool:
        marker = item.get_closest_marker("in_turns")
        if marker is None or not isinstance(item, pytest.Function):
            return False
        turns, first = (*marker.args, 0)[:2]
        return sum(self.number(item, name) for name in item.callspec.params) % turns != first


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--alone")
    kept, left = [], []
    turns = Turns()
    for item in items:
        is_alone = item.get_closest_marker("alone") is not None
        is_selected = wanted is None or is_alone == (wanted == "only")
        is_another = is_library_again(item) or (
            not config.getoption("--every-turn") and turns.is_anothers(item)
        )
        (kept if is_selected and not is_another else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


# Workers of pytest-xdist tell the process that prints the summary what they have run once more.
RUN_AGAIN: Counter[str] = Counter()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["run_again"] = dict(again.OF_THIS_PROCESS.counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    RUN_AGAIN.update(getattr(node, "workeroutput", {}).get("run_again", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(again.text(RUN_AGAIN + again.OF_THIS_PROCESS.counts))


@pytest.fixture(scope="session", params=[mpi.name for mpi in mpis.ALL])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI under test in turn. One that is missing fails: `make test` installs them all."""
    return harness.installed(mpis.BY_NAME[request.param], request.config)


@pytest.fixture(scope="session", params=[mpi.name for mpi in mpis.ALL if mpi.has_cluster])
def cluster_mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI under test that works across emulated nodes."""
    return harness.installed(mpis.BY_NAME[request.param], request.config)


@pytest.fixture(scope="session")
def make_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Cluster]]:
    """Build clusters (nodes, rate, latency_us); each is taken down at the end of the session."""
    if os.geteuid() != 0:
        pytest.skip("an emulated cluster needs root")
    directory = tmp_path_factory.mktemp("clusters")
    clusters: list[Cluster] = []

    def make(nodes: int, rate: str | None = None, latency_us: int | None = None) -> Cluster:
        clusters.append(Cluster(directory / str(len(clusters)), nodes, rate, latency_us))
        return clusters[-1]

    yield make
    for cluster in clusters:
        cluster.down()


@pytest.fixture(scope="session")
def cluster(make_cluster: Callable[..., Cluster]) -> Cluster:
    """Four nodes that all tests share."""
    return make_cluster(4)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(harness.build_yield_preload(), tmp_path)


@pytest.fixture(scope="session")
def python() -> str:
    return sys.executable


@pytest.fixture(scope="session")
def nbody_of() -> Callable[[Mpi], Path]:
    """The compiled example for an MPI."""

    return lambda mpi: harness.compile_example(mpi, "nbody", COMPILER_FLAGS)
