# SPDX-License-Identifier: BSD-3-Clause
"""The site of docs/: every link leads somewhere, and it works in a browser without server and network."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest
from mpis import ROOT
from playwright.sync_api import Page


def build(directory: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", directory, *words]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    answer = build(directory)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return directory


@pytest.fixture
def page() -> Iterator[Page]:
    """A page that asks nobody: `asked` has every address that is no file's, `wrong` what scripts complain of."""
    with browser.chromium() as chromium:
        page = chromium.new_page()
        page.asked, page.wrong = [], []  # type: ignore[attr-defined]
        page.on("request", lambda request: None if is_local(request.url) else page.asked.append(request.url))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        yield page


def is_local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:"))


@pytest.mark.dear("site")
def test_search_and_colours_work_without_network(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    assert page.locator("h1").first.inner_text().startswith("Unisono")
    page.keyboard.press("/")
    page.keyboard.type("binomial tree")
    first = page.locator(".md-search-result__link").first
    first.wait_for(timeout=20000)
    assert page.locator(".md-search-result__link").count() > 1
    assert first.get_attribute("href")
    page.keyboard.press("Escape")
    schemes = set()
    for _ in range(2):
        schemes.add(page.locator("body").get_attribute("data-md-color-scheme"))
        page.locator("label[for^=__palette]:visible").first.click()
    assert schemes == {"default", "slate"}
    assert (page.asked, page.wrong) == ([], [])


@pytest.mark.dear("site")
def test_pages_show_lists_tables_and_pictures(site: Path, page: Page) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    for name in ("guide/report.html", "inside/testing.html", "reference/algorithms.html"):
        page.goto((site / name).as_uri())
        assert page.locator("article table").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        broken = page.evaluate(
            "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        )
        assert broken == []
        assert "\n- " not in page.locator("article").inner_text()
    assert (page.asked, page.wrong) == ([], [])


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    assert pages <= built


@pytest.mark.dear("site")
def test_a_link_to_nowhere_fails(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# One\n\n[here](#one) [there](#nowhere) [page](none.md)\n")
    config = (ROOT / "mkdocs.yml").read_text().replace("docs_dir: docs", f"docs_dir: {docs}")
    config = config.replace("hooks: [tools/", f"hooks: [{ROOT}/tools/")
    (tmp_path / "mkdocs.yml").write_text(config)
    answer = build(tmp_path / "site", "--config-file", tmp_path / "mkdocs.yml")
    assert answer.returncode == 1
    assert "#nowhere" in answer.stderr and "none.md" in answer.stderr and "#one'" not in answer.stderr


def test_lists_and_blocks_are_converted() -> None:
    specification = importlib.util.spec_from_file_location("site_hooks", ROOT / "tools/site_hooks.py")
    assert specification and specification.loader
    hooks = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(hooks)
    text = "Text:\n- one\n  goes on\n  1. two\n\n     ```console run status=1\n     - $ x\n     ```\n- three\n\nEnd."
    assert hooks.converted(text).split("\n") == [
        "Text:",
        "",
        "- one",
        "    goes on",
        "",
        "    1. two",
        "",
        "        ```console",
        "        - $ x",
        "        ```",
        "- three",
        "",
        "End.",
    ]
    assert hooks.on_page_markdown("<!-- run\n$ x\n-->\nText\n") == "Text\n"
