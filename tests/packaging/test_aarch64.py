# SPDX-License-Identifier: BSD-3-Clause
"""The wheel for AArch64 on this machine: what it holds, and its parts under an emulator, in jobs too."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, run

SYSTEM = Path("/usr/aarch64-linux-gnu")
EMULATOR = shutil.which("qemu-aarch64-static")
COMPILER = shutil.which("aarch64-linux-gnu-gcc")

needs_emulator = pytest.mark.skipif(
    EMULATOR is None or COMPILER is None, reason="needs an emulator and a compiler (tools/setup.sh aarch64)"
)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel for AArch64, unpacked to where an installation has it."""
    build = BUILD.with_name("aarch64")
    if not (build / "bin/unisono-tool").is_file():
        pytest.skip(f"there is no build in {build} (make wheel-aarch64)")
    folder = tmp_path_factory.mktemp("aarch64")
    run(sys.executable, ROOT / "tools/make_wheel.py", build, folder, "--machine", "aarch64")
    (wheel,) = folder.glob("*.whl")
    assert wheel.name.endswith("-py3-none-manylinux_2_34_aarch64.whl")
    run(sys.executable, "-m", "zipfile", "-e", wheel, folder)
    (data,) = folder.glob("unisono-*.data")
    shutil.copytree(data / "data", folder / "prefix")
    shutil.copytree(data / "scripts", folder / "prefix/bin")
    for path in (*folder.glob("prefix/bin/*"), folder / "prefix/lib/unisono/unisono-tool"):
        path.chmod(0o755)
    return folder / "prefix"


def test_it_holds_parts_for_its_machine_alone(foreign: Path) -> None:
    heads = {path: path.read_bytes()[:20] for path in foreign.rglob("*") if path.is_file()}
    compiled = [path for path, head in heads.items() if head[:4] == b"\x7fELF"]
    aarch64 = 183  # EM_AARCH64
    assert len(compiled) == 7
    assert {int.from_bytes(heads[path][18:20], "little") for path in compiled} == {aarch64}
    said = "".join(run("readelf", "--version-info", "--wide", path) for path in compiled)
    newest = max((int(major), int(minor)) for major, minor in re.findall(r"\bGLIBC_(\d+)\.(\d+)", said))
    assert newest <= (2, 34)
    assert (foreign / "share/man/man1/unisono-run.1").is_file()


@needs_emulator
def test_commands_run(foreign: Path) -> None:
    start = [EMULATOR, "-L", SYSTEM]
    assert "COMMAND" in run(*start, foreign / "bin/unisono", "run", "--help")
    line = run(*start, foreign / "bin/unisono", "run", "--dry-run", "true")
    assert f"{foreign}/bin/unisono-exec" in line and f"{foreign}/lib/unisono/libunisono.so" in line
    assert "unisono-exec" in run(*start, foreign / "bin/unisono-exec", "--help")
    assert "ring" in run(*start, foreign / "lib/unisono/unisono-tool", "list")


@pytest.fixture(scope="module")
def mpich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The headers and libraries of the MPICH that .mpi/mpich has, for AArch64."""
    folder = tmp_path_factory.mktemp("mpich")
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 28, 34)]
    words = ["download", "--quiet", "--no-deps", "--only-binary=:all:", *platforms, "--dest", folder]
    run(sys.executable, "-m", "pip", *words, "-r", ROOT / "requirements/mpi-mpich.txt")
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "zipfile", "-e", wheel, folder)
    (data,) = folder.glob("mpich-*.data")
    (data / "abi").mkdir()
    (data / "abi/mpi.h").write_text("#include <mpi_abi.h>\n")
    return data


@needs_emulator
@pytest.mark.parametrize(
    ("folders", "library"), [(["data/include"], "libmpi.so.12"), (["abi", "data/include"], "libmpi_abi.so.1")]
)
def test_a_job_runs(foreign: Path, mpich: Path, tmp_path: Path, folders: list[str], library: str) -> None:
    """All collectives, their results checked. This machine's launcher starts the emulator once a rank."""
    assert EMULATOR and COMPILER
    sources = sorted((ROOT / "tests/integration/programs/collectives").glob("*.c"))
    includes = [f"-I{folder}" for folder in (*(mpich / folder for folder in folders), ROOT / "include")]
    libraries = mpich / "data/lib"
    # Libraries that it needs itself are found when it runs.
    links = [
        f"-L{libraries}",
        f"-l:{library}",
        "-lm",
        "-Wl,--allow-shlib-undefined",
        f"-Wl,-rpath,{libraries}",
    ]
    run(COMPILER, "-O1", *includes, "-o", tmp_path / "collectives", *sources, *links)
    settings = {
        "LD_PRELOAD": foreign / "lib/unisono/libunisono.so",
        "UNISONO_REPORT": tmp_path / "report.json",
    }
    given = [word for name, value in settings.items() for word in ("-E", f"{name}={value}")]
    # The emulator has no process_vm_readv.
    environment = {**os.environ, "MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    words = [
        ROOT / ".mpi/mpich/bin/mpiexec",
        "-n",
        "3",
        EMULATOR,
        "-L",
        SYSTEM,
        *given,
        tmp_path / "collectives",
    ]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert re.search(r"^OK \d+ checks$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["ranks"] == 3
    assert {"fused", "shared"} <= {row["algorithm"].partition("(")[0] for row in report["classes"]}
