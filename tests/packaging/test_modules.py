# SPDX-License-Identifier: BSD-3-Clause
"""The module files of an installation, in both kinds of module systems."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, run

TCL = Path(f"/usr/lib/{os.uname().machine}-linux-gnu/modulecmd.tcl")


def exported(text: str) -> dict[str, str]:
    """What a shell is told to set."""
    found = re.findall(r"^(?:export )?([A-Z_]+)=['\"]?([^'\";]*)['\"]?;", text, re.MULTILINE)
    return dict(found)


def load(system: str, prefix: Path, root: Path, module: str) -> dict[str, str]:
    folder = f"{prefix}/share/unisono/modules/{'tcl' if system == 'Environment Modules' else 'lua'}"
    kept = {"PATH": "/usr/bin:/bin", "MODULEPATH": folder, "HOME": "/tmp", "LD_PRELOAD": ""}
    if system == "Environment Modules":
        words = ["tclsh", str(TCL), "sh", "load", module]
    else:
        words = ["chroot", str(root), "/usr/share/lmod/lmod/libexec/lmod", "bash", "load", module]
        kept["PATH"] += ":/usr/sbin:/sbin"
    done = subprocess.run(words, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "rror" not in done.stderr, done.stdout + done.stderr
    return exported(done.stdout)


@pytest.mark.parametrize("system", ["Environment Modules", "Lmod"])
def test_modules(system: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    root = Path("/")
    if system == "Lmod":
        root = request.getfixturevalue("debian")
    elif not TCL.is_file() or shutil.which("tclsh") is None:
        pytest.skip("needs environment-modules (tools/setup.sh packaging)")
    inside = Path(f"/tmp/unisono-modules-{os.getpid()}") if system == "Lmod" else tmp_path
    outside = root / inside.relative_to("/")
    run("cmake", "--install", BUILD, "--prefix", outside, "--component", "runtime")
    try:
        version = next(outside.glob("share/unisono/modules/tcl/unisono/*-on")).name.removesuffix("-on")
        plain = load(system, inside, root, f"unisono/{version}")
        assert plain["UNISONO_PREFIX"] == str(inside)
        assert plain["PATH"].split(":")[0] == f"{inside}/bin"
        assert f"{inside}/share/man" in plain["MANPATH"]
        assert not plain.get("LD_PRELOAD")
        switched_on = load(system, inside, root, f"unisono/{version}-on")
        assert switched_on["LD_PRELOAD"].strip(":") == f"{inside}/lib/unisono/libunisono.so"
        assert (root / f"{inside}/lib/unisono/libunisono.so".lstrip("/")).is_file()
    finally:
        shutil.rmtree(outside)
