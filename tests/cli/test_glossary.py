# SPDX-License-Identifier: BSD-3-Clause
"""docs/glossary.md explains the words that lists, reports and tables use, shortly and in order."""

from __future__ import annotations

import json
import re
import subprocess

from conftest import BUILD, ROOT, needs_build

PAGE = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^### (.+)\n\n((?:.+\n)+)", PAGE, re.MULTILINE))
MOST_SENTENCES = 4


def test_terms_are_in_order_and_explained_shortly() -> None:
    terms = [term.lower() for term in ENTRIES]
    assert terms == sorted(terms)
    assert len(ENTRIES) == PAGE.count("\n### ")
    long = [term for term, text in ENTRIES.items() if len(re.findall(r"[.:]\s", text)) > MOST_SENTENCES]
    assert not long


@needs_build
def test_groups_and_parameters_of_algorithms_have_entries() -> None:
    command = [BUILD / "bin/unisono-tool", "list"]
    algorithms = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=50).stdout)
    names = {one["group"] for one in algorithms}
    names |= {parameter["name"] for one in algorithms for parameter in one["parameters"]}
    assert len(names) > 15
    missing = {name for name in names if name.capitalize() not in ENTRIES and f"*{name}*" not in PAGE}
    assert not missing


def test_links_to_terms_are_links_to_entries() -> None:
    anchors = {re.sub(r"[^\w -]", "", term.lower()).replace(" ", "-") for term in ENTRIES}
    used = re.findall(r"glossary\.md#([\w-]+)", "".join(p.read_text() for p in ROOT.glob("docs/**/*.md")))
    used += re.findall(r"\]\(#([\w-]+)\)", PAGE)
    assert used
    assert set(used) <= anchors
