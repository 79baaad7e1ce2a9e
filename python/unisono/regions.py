# SPDX-License-Identifier: BSD-3-Clause
"""Regions of a Python program by name, for learning while the program runs (docs/guide/learning.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def region(name: str) -> Iterator[None]:
    """Names the part of the program inside the `with` block.

    Calls of one kind in two regions are learned apart. All ranks of a communicator should be in the same region when
    they call a collective. Outside of Unisono, and where it does not learn, nothing happens.

        with unisono.region("transpose"):
            comm.Alltoall(a, b)
    """
    import ctypes  # here, since every command imports this package and none but programs name regions

    # The preloaded library is in the global scope; where it is missing the program runs without Unisono.
    process = ctypes.CDLL(None)
    try:
        begin, end = process.unisono_region_begin, process.unisono_region_end
    except AttributeError:
        yield
        return
    begin.argtypes, begin.restype = [ctypes.c_char_p], None
    end.argtypes, end.restype = [], None
    begin(name.encode())
    try:
        yield
    finally:
        end()
