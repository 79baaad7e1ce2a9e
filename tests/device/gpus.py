# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs that are there, which of them take the memory of GPUs of NVIDIA's, and that memory for programs."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import mpis
from harness import COMPILED, PROGRAMS, is_outdated
from mpis import Mpi


@dataclass(frozen=True)
class Installed:
    """An MPI that is there, and what it needs to take the memory of GPUs itself; None: it cannot."""

    mpi: Mpi
    if_aware: dict[str, str] | None
    words: tuple[str, ...] = ()  # for programs/device_memory.c: what it takes of that memory


def _of_user(variable: str) -> list[Installed]:
    """An Open MPI that was built with CUDA; none of the registry's is."""
    prefix = Path(os.environ.get(variable, "/nonexistent"))
    tools = {language: prefix / "bin" / tool for language, tool in {"c": "mpicc", "c++": "mpicxx"}.items()}
    family = "openmpi5" if (prefix / "bin/prterun").exists() else "openmpi4"
    link_flags = (f"-Wl,-rpath,{prefix / 'lib'}",)
    mpi = Mpi(f"{family}_cuda", family, prefix / "bin/mpirun", tools, prefix / "lib", link_flags)
    return [Installed(mpi, {})] if mpi.is_installed else []


def find_installed() -> list[Installed]:
    found = [
        # Intel MPI takes no types with gaps there.
        Installed(mpi, {"I_MPI_OFFLOAD": "1"}, ("even",)) if mpi.family == "intel" else Installed(mpi, None)
        for mpi in mpis.ALL
        if mpi.is_installed and not mpi.is_standard_abi
    ]
    return [*found, *_of_user("CUDA_OPENMPI")]


def cuda_library() -> Path:
    """The library by which programs reach the GPU; GPU_LIBRARY names another, such as a stand-in."""
    if "GPU_LIBRARY" in os.environ:
        return Path(os.environ["GPU_LIBRARY"])
    target = COMPILED / "gpus/libcuda_gpu.so"
    source = PROGRAMS / "cuda_gpu.c"
    if is_outdated(target, [source]):
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", target, source, "-ldl"], check=True)
    return target


ALL = find_installed()
AWARE = [entry for entry in ALL if entry.if_aware is not None]
