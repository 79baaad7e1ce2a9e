# SPDX-License-Identifier: BSD-3-Clause
"""The page of a real run and a real tuning in a real browser: it renders, loads nothing, and its controls work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import mpis
import pytest
from browser import chromium
from harness import HEADER, Runner, compile_program
from playwright.sync_api import Browser, Locator, Page

# One share has all of them: what they look at takes ten seconds to make.
pytestmark = pytest.mark.dear("page")

HOSTILE = "</script><script>window.harmed=1</script><img src=x onerror=window.harmed=1>\" 'onfocus=alert(1)"


@dataclass(frozen=True)
class Pages:
    """What the commands have written."""

    run: Path  # report of a run
    everything: Path  # page of run and table
    tuning: Path  # page that the tuning wrote by itself
    program: Path  # page that the run wrote by itself
    hostile: Path  # page of a run that has chosen its names with care


def unisono(folder: Path, *words: str | Path) -> None:
    environment = {
        **mpis.launcher_environment(mpis.BY_NAME["openmpi5"]),
        "UNISONO_HOME": str(harness.BUILD),
        "UNISONO_CACHE": "",
        "UNISONO_SITE_TABLE": "",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    command = [sys.executable, "-m", "unisono", *map(str, words)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, cwd=folder, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def pages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pages:
    mpi = harness.installed(mpis.BY_NAME["openmpi5"], request.config)
    folder = tmp_path_factory.mktemp("pages")
    launcher = mpi.launch(
        2, [], Runner(harness.build_yield_preload(), folder).environment_for_ranks(mpi, 2, None)
    )
    program = compile_program(mpi, "learning.c", flags=[HEADER])
    learning = ["--learn", "star", "--learn-iterations", "2"]
    unisono(folder, "run", *learning, "--report", "program.html", "--", *launcher, program)
    report = report_in(folder / "program.html")
    (folder / "run.json").write_text(json.dumps(report))
    tuning = [
        "--budget",
        "2s",
        "--operation",
        "barrier,bcast,allreduce",
        "--size",
        "8,16K",
        "-o",
        "table.json",
    ]
    compiler = ["--mpicc", mpi.compilers["c"]]
    unisono(folder, "tune", *tuning, *compiler, "--report", "tuning.html", "--", *launcher)
    decide_all(folder / "table.json")
    unisono(folder, "report", "run.json", "table.json", "--html", "everything.html")
    (folder / "hostile.json").write_text(json.dumps(with_hostile_names(report)))
    unisono(folder, "report", "hostile.json", "--html", "hostile.html")
    assert not list(folder.glob(".*.json")), "what a page is made of is not left behind"
    names = ("everything", "tuning", "program", "hostile")
    return Pages(folder / "run.json", **{name: folder / f"{name}.html" for name in names})


def decide_all(table: Path) -> None:
    """Of a short tuning some cells stay undecided, which have no rules: here all have one."""
    content = json.loads(table.read_text())
    cells = [("barrier", 0), *((name, size) for name in ("bcast", "allreduce") for size in (8, 16384))]
    content["rules"] = [
        {
            "operation": operation,
            "bytes": [size // 2 + 1 if size else 0, size],
            "nodes": [1, 1],
            "ranks_per_node": [2, 2],
            "algorithm": "fused" if size < 100 else "shared",
            "time_us": 1.5,
            "interval_us": [1.4, 1.6],
            "samples": 40,
            "origin": "measured",
            "measured_bytes": size,
            "others": [{"algorithm": "native", "time_us": 3.0, "interval_us": [2.9, 3.1], "samples": 40}],
        }
        for operation, size in cells
    ]
    table.write_text(json.dumps(content))


def report_in(page: Path) -> dict[str, Any]:
    """What a page of one run was made of."""
    _, _, data = page.read_text().partition('<script type="application/json" id="data">')
    report: dict[str, Any] = json.loads(data.partition("</script>")[0])[0]["report"]
    return report


def with_hostile_names(report: dict[str, Any]) -> dict[str, Any]:
    for row in report["communicators"]:
        row["name"] = HOSTILE
    for row in report["learning"]:
        row["region"] = row["region"] and HOSTILE
        row["timeline"][0]["why"] = HOSTILE
    for row in report["classes"]:
        row["reason"] = HOSTILE
    return report | {"warnings": [HOSTILE], "mpi": HOSTILE, "options": {"algorithm": HOSTILE}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


Open = Callable[..., Page]


@pytest.fixture
def show(browser: Browser) -> Iterator[Open]:
    """Opens a page; when the test is over it must have asked for nothing, and the browser must have found nothing wrong."""
    said: list[str] = []
    asked: list[str] = []
    shown: list[str] = []
    contexts = []

    def open_page(file: Path, **settings: Any) -> Page:
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}, **settings))
        page = contexts[-1].new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: asked.append(request.url))
        shown.append(file.as_uri())
        page.goto(shown[-1])
        page.evaluate("document.querySelectorAll('#models > details').forEach(one => { one.open = true; })")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert asked == shown


def visible(page: Page, selector: str) -> Locator:
    return page.locator(f"{selector}:visible")


def operations(page: Page, section: str) -> set[str]:
    """Of what is to be seen there."""
    rows = visible(page, f"#{section} [data-operation]")
    return {row.get_attribute("data-operation") or "" for row in rows.all()} - {""}


def left_edges(page: Page, selector: str) -> list[float]:
    edges: list[float] = page.eval_on_selector_all(
        selector, "all => all.map(one => one.getBoundingClientRect().left)"
    )
    return edges


def test_all_sections_are_there(pages: Pages, show: Open):
    page = show(pages.everything)
    sections = ["time", "speedup", "decisions", "learning", "models", "reasons"]
    for section in sections:
        assert page.locator(f"#{section} h2").is_visible()
        assert visible(page, f"#{section} tbody tr").count() > 0, section
    assert [link.get_attribute("href") for link in page.locator("nav a").all()] == [
        f"#{name}" for name in sections
    ]
    tuned = page.locator("#speedup .panel", has_text="the table's choice").locator("td.cell")
    assert tuned.count() == 1 + 2 + 2
    colours = tuned.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert all(colour.startswith("rgb") for colour in colours)
    assert page.locator("#models .point").count() > 10
    assert page.locator("#learning .segment").count() > 10


@pytest.mark.parametrize("width", [1280, 420])
def test_nothing_is_wider_than_the_window(pages: Pages, show: Open, width: int):
    for file in (pages.everything, pages.hostile):
        page = show(file)
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, file


def test_filters(pages: Pages, show: Open):
    page = show(pages.everything)
    before = visible(page, "main tr").count()
    assert operations(page, "speedup") >= {"bcast", "allreduce"}
    page.select_option("#by-operation", "bcast")
    for section in ("time", "speedup", "decisions", "learning", "models"):
        assert operations(page, section) == {"bcast"}, section
    assert all("bcast" in names.split() for names in operations(page, "reasons"))
    page.select_option("#by-operation", "")
    page.select_option("#by-region", "region/second")
    regions = {lane.get_attribute("data-region") for lane in visible(page, ".lanes [data-region]").all()}
    assert regions == {"second"}
    page.get_by_role("button", name="show all").click()
    assert visible(page, "main tr").count() == before
    page.select_option("#by-operation", "barrier")
    assert "Nothing here" in page.locator(
        "#models .is-empty, #learning .is-empty, #speedup .is-empty"
    ).first.evaluate("one => getComputedStyle(one, '::after').content")


@pytest.mark.parametrize(
    ("section", "moved"),
    [("learning", ".segment:nth-child(2)"), ("models", ".point"), ("time", ".bar i")],
)
def test_axes_change(pages: Pages, show: Open, section: str, moved: str):
    page = show(pages.everything)
    selector = f"#{section} {moved}"
    switch = page.locator(f"#{section} .switch input")
    at: dict[str, list[float]] = {}
    ticks: dict[str, list[str]] = {}
    for kind in ("lin", "log"):
        switch.and_(page.locator(f"[value={kind}]")).check(force=True)
        at[kind] = left_edges(page, selector)
        ticks[kind] = visible(page, f"#{section} .{kind}-only").first.locator("i, text").all_text_contents()
    assert at["lin"] != at["log"]
    assert ticks["lin"] != ticks["log"]
    assert min(map(len, ticks.values())) >= 2


def test_the_keyboard_reaches_the_controls(pages: Pages, show: Open):
    page = show(pages.everything)
    page.locator("#by-operation").focus()
    page.keyboard.type("allred")
    assert operations(page, "time") == {"allreduce"}
    page.keyboard.press("Escape")
    log = page.locator("#learning .switch input[value=log]")
    log.focus()
    before = left_edges(page, "#learning .segment:nth-child(2)")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#learning .switch input[value=lin]").is_checked()
    assert left_edges(page, "#learning .segment:nth-child(2)") != before
    head = page.locator("#time .bars th button", has_text="calls")
    head.focus()
    page.keyboard.press("Enter")
    assert page.locator("#time .bars th[aria-sort=descending]").inner_text().startswith("calls")


def test_sorting(pages: Pages, show: Open):
    page = show(pages.everything)
    table = page.locator("#time .bars")
    column = table.locator("thead th").all_inner_texts().index("calls") + 1
    cells = table.locator(f"tbody td:nth-child({column})")
    head = table.get_by_role("button", name="calls")
    head.click()
    down = [int(text.replace(",", "")) for text in cells.all_inner_texts()]
    head.click()
    up = [int(text.replace(",", "")) for text in cells.all_inner_texts()]
    assert down == sorted(down, reverse=True)
    assert up == down[::-1]
    table.get_by_role("button", name="operation").click()
    names = table.locator("tbody th").all_inner_texts()
    assert names == sorted(names)


def test_explanations_have_exact_numbers_and_intervals(pages: Pages, show: Open):
    page = show(pages.tuning)
    tip = page.get_by_role("tooltip")
    assert not tip.is_visible()
    cell = page.locator(".speedups td.cell").first
    cell.hover()
    said = tip.inner_text().splitlines()
    assert said[0].split(",")[0] in ("barrier", "bcast", "allreduce")
    assert any(line.startswith("native: ") for line in said)
    assert "95 % interval" in "".join(said) and "samples" in said[-1]
    page.mouse.move(2, 2)
    assert not tip.is_visible()
    # By keyboard: one stop for the map, arrows inside it.
    assert page.locator(".speedups").first.locator("[tabindex='0']").count() == 1
    cells = page.locator(".speedups").first.locator("td.cell")
    cells.first.focus()
    first = tip.inner_text().splitlines()[0]
    assert first == said[0]
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert cells.count() == 1 or tip.inner_text().splitlines()[0] != first
    assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "tip"
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_a_phone_shows_it(pages: Pages, show: Open):
    """The head leaves room, the page does not go sideways, and a table that does says so."""
    page = show(pages.program)
    page.set_viewport_size({"width": 420, "height": 800})
    height = page.evaluate("document.querySelector('.top').getBoundingClientRect().height")
    assert height < 0.25 * 800
    page.mouse.wheel(0, 600)
    # What waits for an expression on the page needs `eval`, which the page forbids.
    for _ in range(100):
        if page.evaluate("document.querySelector('.top').getBoundingClientRect().bottom") < 0:
            break
        page.wait_for_timeout(50)
    assert page.evaluate("document.querySelector('.top').getBoundingClientRect().bottom") < 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    table = visible(page, "#time .wide").first
    assert table.evaluate("one => one.scrollWidth > one.clientWidth")
    assert "goes on" in table.evaluate("one => getComputedStyle(one, '::before').content")


def test_points_and_time_lines_are_explained(pages: Pages, show: Open):
    page = show(pages.everything)
    tip = page.get_by_role("tooltip")
    page.locator("#models .point").first.focus()
    assert "measured" in tip.inner_text() and "predicted" in tip.inner_text()
    page.locator("#learning .segment").first.hover()
    said = tip.inner_text().splitlines()
    assert said[0].endswith((", on trial", ", in use")) and said[1].startswith("calls 0") and said[2]


def test_dark_and_light(pages: Pages, show: Open):
    background = "getComputedStyle(document.body).backgroundColor"
    found = {}
    for scheme in ("light", "dark"):
        page = show(pages.everything, color_scheme=scheme)
        found[scheme] = page.evaluate(background)
        page.get_by_role("button", name="dark or light").click()
        found[f"{scheme}, changed"] = page.evaluate(background)
    assert found["light"] == found["dark, changed"] != found["dark"] == found["light, changed"]


def test_without_scripts_it_is_all_there(pages: Pages, show: Open):
    page = show(pages.everything, java_script_enabled=False)
    assert not page.locator(".tools").is_visible()
    for section in ("time", "speedup", "decisions", "learning", "models", "reasons"):
        assert visible(page, f"#{section} tbody tr").count() > 0, section
    assert "native" in (page.locator(".speedups td.cell").first.get_attribute("title") or "")
    page.locator("#learning summary").first.click()
    assert page.locator("#learning details table").first.is_visible()


def test_print(pages: Pages, show: Open):
    page = show(pages.everything, color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator(".tools").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")
    assert page.locator("details:not([open])").count() == 0


def test_data_is_saved(pages: Pages, show: Open):
    page = show(pages.everything)
    with page.expect_download() as download:
        page.get_by_role("button", name="save data").click()
    saved = json.loads(Path(download.value.path()).read_text())
    assert saved[0]["report"] == json.loads(pages.run.read_text())
    assert saved[1]["table"]["schema"] == "unisono-table"


def test_a_run_writes_its_page(pages: Pages, show: Open):
    page = show(pages.program)
    assert operations(page, "time") >= {"allreduce", "bcast", "barrier"}
    assert visible(page, "#learning .lanes tbody tr").count() > 0
    assert page.locator(".overviews dd", has_text="program.html").count() == 1, "as it was asked for"


def test_hostile_names_are_text(pages: Pages, show: Open):
    page = show(pages.hostile)
    assert page.evaluate("window.harmed") is None
    assert page.locator("img, main script").count() == 0
    assert HOSTILE in page.locator(".warning").inner_text()
    assert HOSTILE in page.locator("#by-region").inner_text()
    page.select_option("#by-region", f"region/{HOSTILE}")
    assert visible(page, ".lanes tbody tr").count() > 0
    visible(page, "#learning .segment").first.hover()
    assert HOSTILE in page.get_by_role("tooltip").inner_text()
    assert json.loads(page.locator("#data").inner_text())[0]["report"]["warnings"] == [HOSTILE]
