# SPDX-License-Identifier: BSD-3-Clause
"""The browser of the packages, without a window."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright


class NoBrowserError(RuntimeError):
    """There is no browser to show pages with."""


@contextmanager
def chromium() -> Iterator[Browser]:
    found = shutil.which("chromium")
    if found is None:
        raise NoBrowserError("chromium is not installed: run tools/setup.sh test")
    # Root may not use the browser's own sandbox, and containers have little shared memory.
    options = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=options)
        yield browser
        browser.close()
