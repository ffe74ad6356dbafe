"""A browser without a window, for tests of pages."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")


def program() -> str:
    """Where Chromium is; installed by the system's own package manager if it is not there."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is not None:
        return found
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise RuntimeError("these tests need Chromium: install it, so that `chromium` is found")
    subprocess.run(["apt-get", "update", "-qq"], check=False)
    subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], check=True)
    return program()


@contextmanager
def running() -> Iterator[Browser]:
    with sync_playwright() as play:
        # As root it has no sandbox; it only opens our own pages.
        browser = play.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
