# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages and completions as `make man` writes them: complete, and without a fault that readers of such pages would find."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, needs_build
from unisono.commands.group import COMMANDS

pytestmark = needs_build
HEADER = ROOT / "include/unisono/unisono.h"


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    command = [sys.executable, str(ROOT / "tools/generate_share.py"), str(folder)]
    environment = {"UNISONO_HOME": str(BUILD), "PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": "86400"}
    subprocess.run(command, env=environment, check=True, timeout=50)
    return folder


def pages(share: Path) -> list[Path]:
    """Those that have a text of their own."""
    return [page for page in sorted(share.glob("man/man*/*")) if not page.read_text().startswith(".so ")]


def shown(page: Path, width: int = 78) -> str:
    """As a terminal shows it, without bold and italic."""
    command = ["groff", "-man", "-Tascii", "-P-cbou", f"-rLL={width}n", str(page)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=50).stdout


def complaints(page: Path, environment: Mapping[str, str] | None = None) -> str:
    lint = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True, check=False, timeout=50
    )
    groff = subprocess.run(
        ["groff", "-ww", "-man", "-Tascii", "-z", page],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    return lint.stdout + lint.stderr + groff.stderr


def test_readers_find_no_fault(share: Path) -> None:
    found = {page.name: said for page in pages(share) if (said := complaints(page))}
    assert not found


def test_faults_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.1"
    page.write_text('.TH "A" "1" "1970-01-02"\n.SH NAME\na \\- b\n.XX\n')
    assert "XX" in complaints(page)


def test_each_command_has_a_page(share: Path) -> None:
    listed = shown(share / "man/man1/unisono.1")
    for name, (_, about) in COMMANDS.items():
        assert f"unisono-{name}(1)" in listed
        text = shown(share / f"man/man1/unisono-{name}.1")
        assert f"unisono-{name} - {about[0].lower()}{about[1:].rstrip('.')}" in " ".join(text.split())
    assert (share / "man/man1/unisono-table-show.1").read_text() == ".so man1/unisono-table.1\n"
    assert "mpirun -n 4 unisono-exec ./program" in shown(share / "man/man1/unisono-exec.1")


def test_all_options_of_a_run_are_there(share: Path) -> None:
    """On the page of the command, and by their other names on that of the file."""
    run = shown(share / "man/man1/unisono-run.1")
    file = shown(share / "man/man5/unisono.conf.5")
    listing = subprocess.run(
        [BUILD / "bin/unisono-tool", "options"], capture_output=True, text=True, check=True
    )
    names = re.findall(r'"(cli|config_key|environment)": "([^"]+)"', listing.stdout)
    assert len(names) > 30
    for kind, name in names:
        assert name in (run if kind == "cli" else file), name


def squeezed(text: str) -> str:
    """Without blanks, which differ by where lines end, and marks of code, which pages show in bold."""
    return "".join(text.replace("`", "").split())


def helped() -> dict[str, str]:
    """The options of the compiled `unisono run --help`, and what it says of each."""
    text = subprocess.run(
        [BUILD / "bin/unisono", "run", "--help"], capture_output=True, text=True, check=True
    ).stdout
    entries = re.split(
        r"\n(?=  -)", text[text.index("The usual options:") : text.index("\n`unisono options`")]
    )
    found = {}
    for entry in entries[1:]:
        names, *rest = re.split(r"  +|\n +", entry.strip())
        found[re.findall(r"--([\w-]+)", names)[0]] = " ".join(rest)
    return found


def test_pages_and_completion_agree_with_the_compiled_help(share: Path) -> None:
    """Names, meanings and defaults; nothing else has them from where `run --help` has them."""
    run, file = (
        squeezed(shown(share / f"man/{name}", 400)) for name in ("man1/unisono-run.1", "man5/unisono.conf.5")
    )
    bash = (share / "bash-completion/completions/unisono").read_text()
    own = {"config", "dry-run", "verbose", "help"}
    assert own < {*helped()} and len(helped()) == 13
    for name, about in helped().items():
        meaning, _, default = about.partition("[default: ")
        meaning = squeezed(meaning)
        assert f"--{name}" in run and meaning in run, name
        assert f"--{name}" in bash, name
        if name not in own:
            key = name.replace("-", "_")
            stands = f"[default:{default}" if default else ""
            assert re.search(rf"{key}=\S+?{re.escape(stands + meaning)}", file), name
            assert re.search(rf"--{name}(?!-).{{,2000}}{re.escape(stands)}", run), name


def test_all_functions_of_the_header_are_there(share: Path) -> None:
    text = shown(share / "man/man3/unisono.3", 200)
    functions = re.findall(r"^UNISONO_API [^;(]*?(\w+)\(", HEADER.read_text(), re.MULTILINE)
    assert len(functions) > 5
    for name in functions:
        assert f"{name}(" in text
        assert (share / f"man/man3/{name}.3").read_text() == ".so man3/unisono.3\n"
    assert "#include <unisono/unisono.h>" in text
    assert "UNISONO_PCONTROL_BEGIN" in text


def test_the_date_is_that_of_the_source(share: Path) -> None:
    assert "1970-01-02" in shown(share / "man/man1/unisono.1")


@pytest.mark.parametrize(
    "file",
    [
        "bash-completion/completions/unisono",
        "zsh/site-functions/_unisono",
        "fish/vendor_completions.d/unisono.fish",
    ],
)
def test_completions_lie_where_shells_look(share: Path, file: str) -> None:
    assert "--learn-budget" in (share / file).read_text().replace("-l learn-budget", "--learn-budget")
