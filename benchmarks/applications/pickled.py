# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that send each other pickled objects: lists, dictionaries and arrays, by each of mpi4py's ways (pickled.py STEPS).

Rank 0 prints the seconds of messages, of the whole, and a checksum of all that has come."""

from __future__ import annotations

import hashlib
import pickle
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI


def objects(step: int, rank: int) -> list[Any]:
    random = np.random.default_rng(step * 1000 + rank)
    return [
        [step, rank, "a short list"],
        {"step": step, "names": [f"particle {i}" for i in range(40)], "mass": 1.5 * rank},
        random.standard_normal(200),
        {"field": random.standard_normal((32, 32)), "of": (rank, step)},
        random.integers(0, 100, 20000),
    ]


def exchanged(comm: MPI.Comm, step: int) -> tuple[float, list[Any]]:
    """Objects to the next rank, and from the one before; seconds, and what has come."""
    own = objects(step, comm.rank)
    to, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    come = []
    begin = time.perf_counter()
    for tag, one in enumerate(own):
        request = comm.isend(one, to, tag)
        come.append(comm.recv(source=before, tag=tag))
        request.wait()
    come.append(comm.sendrecv(own[1], to, 7, source=before, recvtag=7))
    for one in own[:3]:
        if comm.rank % 2 == 0:
            comm.send(one, to, 8)
            come.append(comm.recv(source=before, tag=8))
        else:
            come.append(comm.recv(source=before, tag=8))
            comm.send(one, to, 8)
    return time.perf_counter() - begin, come


def main() -> None:
    comm = MPI.COMM_WORLD
    checksum = hashlib.sha256()
    in_messages = 0.0
    comm.Barrier()
    begin = time.perf_counter()
    for step in range(int(sys.argv[1])):
        seconds, come = exchanged(comm, step)
        in_messages += seconds
        checksum.update(pickle.dumps(come))
    comm.Barrier()
    whole = time.perf_counter() - begin
    of_all = comm.gather(checksum.hexdigest())
    if of_all is not None:
        together = hashlib.sha256("".join(of_all).encode()).hexdigest()
        print(f"messages {in_messages:.6g}\nwhole {whole:.6g}\nresult {together}")


if __name__ == "__main__":
    main()
