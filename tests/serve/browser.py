"""A real browser for tests and pictures: Chromium without a window, told to talk to nobody but this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["FLAGS", "INSTALL", "find_chromium", "opened"]

INSTALL = "no Chromium found: apt-get install chromium, or set SAMEBITS_CHROMIUM to its path"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


def find_chromium() -> str | None:
    """The browser's path, or None where there is none."""
    given = os.environ.get("SAMEBITS_CHROMIUM")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def opened() -> Iterator[Browser]:
    """Start the browser, with a fresh profile, and end it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), headless=True, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
