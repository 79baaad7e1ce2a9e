#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of docs/guide/report.md: measures, makes a page of it, and photographs the page in a browser.

    make page-images                                     two minutes; the page and what it is made of stay in reports/page
    .venv/bin/python benchmarks/report_images.py --mpi mpich5 --ranks 4 --images elsewhere

What reports/page holds already is not measured again without --again: pictures of a changed page come at once.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from browser import chromium
from harness import BUILD, Runner, build_yield_preload
from PIL import Image
from playwright.sync_api import Browser

WIDTH = 1150  # of the window; pictures are sharper than that
SHARPNESS = 1.5
HEAT = ROOT / "examples/heat/heat.py"
# Name of the picture: what of the page it shows, and what of that it leaves out.
PICTURES = {
    "report_time": ("#time", []),
    "report_speedup": ("#speedup", [".panel:not(:has(b:text-matches('^tuned')))"]),
    "report_decisions": ("#decisions", [".panel:not(:has(b:text-matches('^tuned')))"]),
    "report_learning": ("#learning", ["details:not([open])"]),
    "report_models": ("#models", []),
}


def unisono(arguments: argparse.Namespace, words: Sequence[str | Path], output: Path | None = None) -> None:
    """One command, in the folder of the data; `output` takes what it prints."""
    mpi = mpis.BY_NAME[arguments.mpi]
    settings = {"UNISONO_HOME": str(BUILD), "UNISONO_CACHE": "", "UNISONO_SITE_TABLE": ""}
    command = [sys.executable, "-m", "unisono", *map(str, words)]
    print("unisono", *words, flush=True)
    done = subprocess.run(
        command,
        env=mpis.launcher_environment(mpi) | settings | {"PYTHONPATH": str(ROOT / "python")},
        cwd=arguments.data,
        stdout=subprocess.PIPE if output else None,
        text=True,
        timeout=arguments.timeout,
        check=True,
    )
    if output:
        output.write_text(done.stdout)


def measure(arguments: argparse.Namespace) -> None:
    """What is not there yet: a table, cells with all algorithms, the report of a run that learns."""
    mpi, ranks = mpis.BY_NAME[arguments.mpi], arguments.ranks
    runner = Runner(build_yield_preload(), arguments.data)
    settings = runner.environment_for_ranks(mpi, ranks, None)
    launcher = side_by_side.fair(mpi, mpi.launch(ranks, [], settings), ranks)
    compiler = ["--mpicc", mpi.compilers["c"]]
    table, cells, report = (arguments.data / f"{name}.json" for name in ("tuned", "cells", "heat"))
    if not table.exists():
        unisono(arguments, ["tune", "--budget", arguments.budget, "-o", table, *compiler, "--", *launcher])
    if not cells.exists():
        tried = ["--operation", "bcast,reduce,allreduce,allgather,alltoall", "--size", "8,512,16K,256K"]
        tried += ["--seconds", "0.5", "--try", "all", "--json"]
        unisono(arguments, ["bench", *tried, *compiler, "--", *launcher], cells)
    if not report.exists():
        program = [sys.executable, HEAT, "--steps", arguments.steps, "--quiet"]
        environment = settings | mpis.mpi4py_environment(mpi, arguments.data)
        started = side_by_side.fair(mpi, mpi.launch(ranks, program, environment), ranks)
        unisono(arguments, ["run", "--learn", "auto", "--report", report, "--", *started])


def photograph(browser: Browser, page_file: Path, folder: Path) -> None:
    context = browser.new_context(
        viewport={"width": WIDTH, "height": 800}, device_scale_factor=SHARPNESS, color_scheme="light"
    )
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.locator("#learning details").last.evaluate("one => { one.open = true; }")
    # What stays at the window's upper edge would cover what is photographed.
    page.add_style_tag(content=".top { position: static !important; } section { padding: 0.8rem; }")
    for name, (selector, left_out) in PICTURES.items():
        section = page.locator(selector)
        for part in left_out:
            section.locator(part).evaluate_all("all => all.forEach(one => { one.style.display = 'none'; })")
        box = section.bounding_box()
        assert box is not None, f"{selector} is not to be seen"
        picture = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=box)))
        picture.quantize(256, dither=Image.Dither.NONE).save(
            folder / f"{name}.png", optimize=True
        )  # a third of the bytes
        print(folder / f"{name}.png")
    context.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", default="openmpi5", choices=[mpi.name for mpi in mpis.ALL if mpi.has_mpi4py])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--budget", default="60s", help="of tuning (%(default)s)")
    parser.add_argument("--steps", default="3000", help="of the program that learns (%(default)s)")
    parser.add_argument("--machine", default="typical", help="for which times are predicted (%(default)s)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds of each command (%(default)s)")
    parser.add_argument("--again", action="store_true", help="measure what has been measured")
    parser.add_argument("--data", type=Path, default=ROOT / "reports/page", metavar="FOLDER")
    parser.add_argument("--images", type=Path, default=ROOT / "docs/images", metavar="FOLDER")
    arguments = parser.parse_args()
    arguments.data = arguments.data.absolute()
    arguments.data.mkdir(parents=True, exist_ok=True)
    if arguments.again:
        for file in arguments.data.glob("*.json"):
            file.unlink()
    measure(arguments)
    asked = [
        "--layout",
        str(arguments.ranks),
        "--layout",
        f"2x{arguments.ranks}",
        "--machine",
        arguments.machine,
    ]
    files = ["heat.json", "tuned.json", "cells.json"]
    unisono(arguments, ["report", *files, *asked, "--html", "page.html"])
    with chromium() as browser:
        photograph(browser, arguments.data / "page.html", arguments.images)
    return 0


if __name__ == "__main__":
    sys.exit(main())
