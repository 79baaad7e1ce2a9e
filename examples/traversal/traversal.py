#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds how far all vertices of a directed graph are from one of them: a breadth-first traversal, in Python with mpi4py.

Vertices are dealt to ranks in their order. In each level a rank tells the owners of the next vertices which ones it has reached:
MPI_Neighbor_alltoall says how many, MPI_Neighbor_alltoallv which. Ranks are neighbours where an edge goes from one to the other.
Rank 0 makes or reads the graph with SciPy, and compares the result with that of scipy.sparse.csgraph.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

if TYPE_CHECKING:
    from scipy import sparse

Vertices = npt.NDArray[np.int64]
EXIT_WRONG, EXIT_USAGE = 1, 2
NOT_REACHED = -1


def two_numbers(text: str) -> tuple[int, float]:
    first, comma, second = text.partition(",")
    try:
        numbers = int(first), float(second)
    except ValueError:
        numbers = (0, -1.0)
    if not comma or numbers[0] < 1 or numbers[1] < 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not two numbers, as in 1000,4")
    return numbers


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="traversal",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit code: 0 all distances are right, 1 one is wrong, 2 wrong usage",
    )
    graph = made.add_mutually_exclusive_group()
    graph.add_argument(
        "--matrix",
        type=Path,
        metavar="FILE",
        help="elements of a Matrix Market file are edges from row to column",
    )
    graph.add_argument(
        "--random",
        type=two_numbers,
        metavar="VERTICES,DEGREE",
        default=(1000, 4.0),
        help="each vertex has so many edges to others on the average (1000,4)",
    )
    graph.add_argument(
        "--lattice", type=int, metavar="SIDE", help="SIDE x SIDE vertices, four neighbours each"
    )
    made.add_argument("--start", type=int, default=0, metavar="VERTEX", help="where to begin (0)")
    made.add_argument("--call", choices=["blocking", "nonblocking"], default="blocking", help="(blocking)")
    made.add_argument("--seed", type=int, default=1, help="another random graph (1)")
    made.add_argument("--times", action="store_true", help="also print how long the traversal took")
    return made


def made_graph(options: argparse.Namespace) -> sparse.csr_array:
    """The graph's matrix, with a 1 for each edge."""
    from scipy import io, sparse

    if options.matrix:
        graph = sparse.csr_array(io.mmread(options.matrix))
    elif options.lattice:
        line = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(options.lattice, options.lattice))
        alone = sparse.eye_array(options.lattice)
        graph = sparse.csr_array(sparse.kron(line, alone) + sparse.kron(alone, line))
    else:
        vertices, degree = options.random
        random = np.random.default_rng(options.seed)
        edges = random.integers(0, vertices, size=(2, round(vertices * degree)))
        graph = sparse.csr_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(vertices, vertices))
    graph.sum_duplicates()
    graph.data = np.ones(graph.nnz)
    return graph


def objection(graph: sparse.csr_array, options: argparse.Namespace, ranks: int) -> str | None:
    """What is wrong with this graph, if anything."""
    rows, columns = graph.shape
    if rows != columns:
        return f"the matrix has {rows} rows and {columns} columns: a graph's is square"
    if ranks > rows:
        return f"there are {ranks} ranks for {rows} vertices: start at most one for each vertex"
    if not 0 <= options.start < rows:
        return f"--start: from 0 to {rows - 1}"
    return None


def agreed(comm: MPI.Intracomm) -> tuple[argparse.Namespace, sparse.csr_array | None]:
    """Rank 0 reads the command line and the graph; where they make no sense all ranks end with its status."""
    options, graph, status = None, None, 0
    if comm.rank == 0:
        try:
            options = parser().parse_args()
            graph = made_graph(options)
            wrong = objection(graph, options, comm.size)
            if wrong:
                parser().error(wrong)
        except SystemExit as ended:
            options, status = None, int(ended.code or 0)
        except ImportError:
            print("traversal: SciPy is missing: python3 -m pip install scipy", file=sys.stderr)
            options, status = None, EXIT_USAGE
        except (OSError, ValueError, MemoryError) as error:
            print(f"traversal: {options.matrix if options else ''}: {error}", file=sys.stderr)
            options, status = None, EXIT_USAGE
    options, status = comm.bcast((options, status))
    if options is None:
        sys.exit(status)
    return options, graph


@dataclass
class Share:
    """A rank's vertices: from `first` to before `first + count`. The edges of its i-th one lead to targets[starts[i] : starts[i + 1]].

    `bounds` has the first vertex of each rank, and how many there are in all.
    """

    bounds: Vertices
    first: int
    count: int
    starts: Vertices
    targets: Vertices

    def owners(self, vertices: Vertices) -> Vertices:
        return np.searchsorted(self.bounds, vertices, side="right") - 1

    def targets_of(self, own: Vertices) -> Vertices:
        """Where the edges of these vertices lead, each vertex once. `own` counts from this rank's first one."""
        starts, lengths = self.starts[own], self.starts[own + 1] - self.starts[own]
        # Places in `targets`: for each vertex from its start on.
        before = np.cumsum(lengths) - lengths
        return np.unique(self.targets[np.repeat(starts - before, lengths) + np.arange(lengths.sum())])


def dealt(comm: MPI.Intracomm, graph: sparse.csr_array | None) -> Share:
    """Rank 0 gives each rank its rows."""
    size = comm.bcast(graph.shape[0] if graph is not None else None)
    bounds = np.array([size * rank // comm.size for rank in range(comm.size + 1)], dtype=np.int64)
    parts = None
    if graph is not None:
        rows = [graph[bounds[rank] : bounds[rank + 1]] for rank in range(comm.size)]
        parts = [(part.indptr.astype(np.int64), part.indices.astype(np.int64)) for part in rows]
    starts, targets = comm.scatter(parts)
    return Share(bounds, int(bounds[comm.rank]), len(starts) - 1, starts, targets)


class Neighbors:
    """Ranks that edges lead to, and ranks that edges come from, and how vertices go along."""

    def __init__(self, comm: MPI.Intracomm, share: Share, is_blocking: bool) -> None:
        self._is_blocking = is_blocking
        to = np.unique(share.owners(share.targets))
        leads = np.zeros(comm.size, dtype=np.int32)
        leads[to] = 1
        comes = np.empty_like(leads)
        comm.Alltoall(leads, comes)
        leads[comm.rank] = comes[comm.rank] = 0
        self.destinations, self.sources = np.flatnonzero(leads), np.flatnonzero(comes)
        self._graph = comm.Create_dist_graph_adjacent(self.sources.tolist(), self.destinations.tolist())
        self._counts_out = np.zeros(len(self.destinations), dtype=np.int32)
        self._counts_in = np.zeros(len(self.sources), dtype=np.int32)

    def exchange(self, parts: list[Vertices]) -> Vertices:
        """Sends a part to each destination; what has come from all sources."""
        self._counts_out[:] = [len(part) for part in parts]
        self._call(
            self._graph.Neighbor_alltoall, self._graph.Ineighbor_alltoall, self._counts_out, self._counts_in
        )
        out = np.concatenate([*parts, np.empty(0, dtype=np.int64)])
        incoming = np.empty(int(self._counts_in.sum()), dtype=np.int64)
        self._call(
            self._graph.Neighbor_alltoallv,
            self._graph.Ineighbor_alltoallv,
            [out, self._counts_out, places(self._counts_out), MPI.INT64_T],
            [incoming, self._counts_in, places(self._counts_in), MPI.INT64_T],
        )
        return incoming

    def _call(self, blocking, nonblocking, out, incoming) -> None:
        if self._is_blocking:
            blocking(out, incoming)
        else:
            nonblocking(out, incoming).Wait()

    def free(self) -> None:
        self._graph.Free()


def places(counts: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Where blocks of these sizes begin, one after the other."""
    return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)[: len(counts)]


def traverse(comm: MPI.Intracomm, share: Share, neighbors: Neighbors, start: int) -> tuple[Vertices, int]:
    """How many edges each of this rank's vertices is away, and how many levels there are in all."""
    distances = np.full(share.count, NOT_REACHED, dtype=np.int64)
    is_told = np.zeros(share.bounds[-1], dtype=bool)  # vertices of others that their owners know of from here
    frontier = np.array(
        [start - share.first] if 0 <= start - share.first < share.count else [], dtype=np.int64
    )
    level = 0
    while comm.allreduce(len(frontier)) > 0:
        distances[frontier] = level
        level += 1
        targets = share.targets_of(frontier)
        targets = targets[~is_told[targets]]
        is_told[targets] = True
        owners = share.owners(targets)
        parts = [targets[owners == destination] for destination in neighbors.destinations]
        reached = np.concatenate([neighbors.exchange(parts), targets[owners == comm.rank]]) - share.first
        frontier = np.unique(reached[distances[reached] == NOT_REACHED])
    return distances, level


def wrong_distances(graph: sparse.csr_array, start: int, found: Vertices) -> int:
    from scipy.sparse import csgraph

    expected = csgraph.dijkstra(graph, unweighted=True, indices=start)
    expected[np.isinf(expected)] = NOT_REACHED
    return int(np.count_nonzero(expected.astype(np.int64) != found))


def main() -> int:
    comm = MPI.COMM_WORLD
    options, graph = agreed(comm)
    share = dealt(comm, graph)
    neighbors = Neighbors(comm, share, options.call == "blocking")
    comm.Barrier()
    begin = MPI.Wtime()
    distances, levels = traverse(comm, share, neighbors, options.start)
    seconds = comm.allreduce(MPI.Wtime() - begin, MPI.MAX)
    most = comm.allreduce(len(neighbors.sources), MPI.MAX)
    neighbors.free()
    parts = comm.gather(distances)
    wrong = 0
    if graph is not None:
        found = np.concatenate(parts)
        reached = found[found != NOT_REACHED]
        digest = int((found * (np.arange(len(found)) % 1009 + 1)).sum())
        print(
            f"traversal: {graph.shape[0]} vertices, {graph.nnz} edges, {comm.size} ranks, at most {most} neighbours"
        )
        print(
            f"reached {len(reached)} vertices in {levels} levels, distance {reached.mean():.4f} on the average"
        )
        print(f"digest of distances: {digest}")
        if options.times:
            print(f"{seconds * 1e3:.3f} ms, {seconds * 1e6 / levels:.1f} us a level")
        wrong = wrong_distances(graph, options.start, found)
        if wrong:
            print(f"traversal: {wrong} distances are wrong", file=sys.stderr)
    return EXIT_WRONG if comm.bcast(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
