"""A browser that opens pages of the tests, where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH to open pages with")


def browse(page: str, folder: Path, width: int, height: int, *options: str) -> str:
    """What chromium prints when it opens a page in a window of this size."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    quiet = ("--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")
    own = (f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}", "--force-device-scale-factor=1")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", *quiet, *own, *options, (folder / "page.html").as_uri()]
    return subprocess.run(command, check=True, capture_output=True, timeout=120).stdout.decode("utf-8")
