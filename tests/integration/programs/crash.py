# SPDX-License-Identifier: BSD-3-Clause
"""A Python program that dies in a collective of which the last rank's result has no memory behind it; with `healthy` it does not."""

import faulthandler
import mmap
import sys
from ctypes import CDLL, c_int, c_long, c_void_p

import numpy
from mpi4py import MPI

ELEMENTS = 1 << 16
PROT_NONE = 0

faulthandler.enable()
comm = MPI.COMM_WORLD
values = numpy.full(ELEMENTS, comm.rank + 1, dtype=numpy.int32)
result = numpy.zeros(ELEMENTS, dtype=numpy.int32)
target = result
if sys.argv[1:] != ["healthy"] and comm.rank + 1 == comm.size:
    library = CDLL(None)
    library.mmap.restype = c_void_p
    library.mmap.argtypes = [c_void_p, c_long, c_int, c_int, c_int, c_long]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = library.mmap(None, result.nbytes, PROT_NONE, flags, -1, 0)
    target = [MPI.buffer.fromaddress(address, result.nbytes), MPI.INT]
comm.Allreduce(values, target)
assert result[0] == comm.size * (comm.size + 1) // 2
if comm.rank == 0:
    print("RIGHT", flush=True)
