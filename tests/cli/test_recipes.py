# SPDX-License-Identifier: BSD-3-Clause
"""Recipes for packagers, as far as they can be looked at without Spack and Apptainer."""

from __future__ import annotations

import ast
import re

from conftest import ROOT

SPACK = ROOT / "packaging/spack/packages/unisono/package.py"
APPTAINER = ROOT / "packaging/apptainer/unisono.def"
SECTIONS = {"files", "post", "test", "runscript", "labels", "help", "environment", "setup", "startscript"}


def called(tree: ast.AST, name: str) -> list[str]:
    """The first arguments of all calls of a function."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name | ast.Attribute)]
    found = [call for call in named if getattr(call.func, "id", getattr(call.func, "attr", None)) == name]
    return [call.args[0].value for call in found if isinstance(call.args[0], ast.Constant)]


def test_spack_asks_for_what_the_package_needs() -> None:
    tree = ast.parse(SPACK.read_text())
    spack = {re.split("[@+]", name)[0] for name in called(tree, "depends_on")}
    project = (ROOT / "pyproject.toml").read_text().partition("[project]")[2].partition("test = [")[0]
    python = set(re.findall(r'"([a-z0-9]+)>=', project))
    assert python == {"click", "rich", "numpy", "jinja2", "matplotlib", "scipy"}
    assert {f"py-{name}" for name in python} <= spack
    cmake = "".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
    for option in called(tree, "define"):
        assert re.search(rf"\b{option}\b", cmake), option


def test_apptainer_has_sections_that_it_knows() -> None:
    text = APPTAINER.read_text()
    header, *sections = re.split(r"^%", text, flags=re.MULTILINE)
    assert re.search(r"^Bootstrap: \w+$", header, re.MULTILINE) and re.search(
        r"^From: \S+$", header, re.MULTILINE
    )
    names = [re.split(r"\s", section, maxsplit=1)[0] for section in sections]
    assert set(names) <= SECTIONS and len(names) == len(set(names))
    (files,) = [section for section in sections if section.startswith("files")]
    assert "dist/unisono_*.deb" in files
