# SPDX-License-Identifier: BSD-3-Clause
"""Options of benchmarks and of suites that take lists with commas: given several times, their lists add up."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


class AddUp(argparse.Action):
    """`--mpi openmpi5 --mpi mpich5` is `--mpi openmpi5,mpich5`; the default is for those who give none. The option's type leaves
    text, or makes a list of it."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        _option: str | Sequence[Any] | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        if before is not self.default:
            values = f"{before},{values}" if isinstance(values, str) else list(dict.fromkeys(before + values))
        setattr(namespace, self.dest, values)
