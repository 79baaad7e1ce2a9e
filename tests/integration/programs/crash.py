# SPDX-License-Identifier: BSD-3-Clause
"""A Python program whose last rank dies in a collective, by a signal of another thread; with `healthy` it does not."""

import faulthandler
import signal
import sys
import threading
import time

import numpy
from mpi4py import MPI

ELEMENTS = 1 << 16

faulthandler.enable()
comm = MPI.COMM_WORLD
values = numpy.full(ELEMENTS, comm.rank + 1, dtype=numpy.int32)
result = numpy.zeros(ELEMENTS, dtype=numpy.int32)
if sys.argv[1:] != ["healthy"]:
    if comm.rank == 0:
        time.sleep(0.6)
    elif comm.rank + 1 == comm.size:
        main = threading.get_ident()
        threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGSEGV)).start()
comm.Allreduce(values, result)
assert result[0] == comm.size * (comm.size + 1) // 2
if comm.rank == 0:
    print("RIGHT", flush=True)
