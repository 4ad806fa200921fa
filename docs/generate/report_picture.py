"""Make the picture of the README from the published page: ``python -m docs.generate.report_picture``.

It needs Chromium.
"""

from __future__ import annotations

import hashlib
import shutil
import struct
import sys
import zlib

from docs.generate import PAGES, ROOT

PAGE = ROOT / "reports" / "published" / "index.html"
PICTURE = PAGES / "report.png"
RESULTS = PAGE.with_name("results.json.gz")
#: The keyword of the text chunk with the digest of the results.
KEYWORD = "Source"
#: The last chunk of a PNG image has 12 bytes.
_END = -12
#: Pixels. At this width the heat map of all laws fits into the page, and the picture into the README.
WIDTH, HEIGHT = 1024, 900


def digest() -> str:
    """Return the digest of the published results, from which page, picture and headline are made."""
    return hashlib.sha256(RESULTS.read_bytes()).hexdigest()


def with_text(png: bytes, keyword: str, text: str) -> bytes:
    """Return a PNG image with a text chunk (PNG specification, 11.3.3.2) before its last chunk."""
    body = b"tEXt" + keyword.encode("latin-1") + b"\0" + text.encode("latin-1")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:_END] + chunk + png[_END:]


def text_of(png: bytes, keyword: str) -> str | None:
    """Return the text of a text chunk of a PNG image, or None if it has none with this keyword."""
    at = 8
    while at < len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        name, _, text = png[at + 8 : at + 8 + length].partition(b"\0")
        if png[at + 4 : at + 8] == b"tEXt" and name == keyword.encode("latin-1"):
            return text.decode("latin-1")
        at += length + 12
    return None


def main() -> None:
    """Take the picture: from the top of the page to the end of the heat map."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        sys.exit("Chromium is not installed: none of chromium, chromium-browser, google-chrome is in PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(PAGE.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        end = page.locator(".heat").first.bounding_box()
        assert end is not None
        height = end["y"] + end["height"] + 4
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
        PICTURE.write_bytes(with_text(page.screenshot(full_page=True, clip=clip), KEYWORD, digest()))
        browser.close()


if __name__ == "__main__":
    main()
