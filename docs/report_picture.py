"""Makes the picture of the README from the published page: ``python docs/report_picture.py``. It needs Chromium."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).resolve().parent
PAGE = DOCS.parent / "reports" / "published" / "index.html"
PICTURE = DOCS / "report.png"
#: Pixels. At this width the heat map of all laws fits into the page, and the picture into the README.
WIDTH, HEIGHT = 1024, 900


def main() -> None:
    """Take the picture: from the top of the page to the end of the heat map."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        sys.exit("Chromium is not installed: none of chromium, chromium-browser, google-chrome is in PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(PAGE.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        end = page.locator(".heat").first.bounding_box()
        assert end is not None
        height = end["y"] + end["height"] + 4
        page.screenshot(path=PICTURE, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()


if __name__ == "__main__":
    main()
