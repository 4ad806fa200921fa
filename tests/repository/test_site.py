"""The site: it has every public name, and it is accessible, searchable and complete in itself."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect

from docs.site.__main__ import BrokenSite, staged
from docs.site.reference import SHADOWED
from tests.reports.browser import SCHEMES, SIZES, axe_findings, browser, photograph, watched

__all__ = ["browser"]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "pages" / "audit.md"
PAGES = ("index.html", "tutorial-audit.html", "api/responses.html")
pytestmark = pytest.mark.page("docs/site", "docs/pages", "tests/typing/public_names.txt")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "docs.site", "--into", str(into)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return into


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """The site in a folder of a server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/site/"
        server.shutdown()


def test_every_public_name_is_described_in_the_reference(site: Path) -> None:
    heading = re.compile(r'<h[23] id="([\w.]+)" class="doc doc-heading">(.*?)(?=<h[23] id=|</article>)', re.DOTALL)
    texts = (page.read_text("utf-8") for page in (site / "site" / "api").glob("*.html"))
    described = {
        name
        for text in texts
        for name, section in heading.findall(text)
        if re.search(r"<p>(?!<a class=.source)", section)
    }
    names = (ROOT / "tests" / "typing" / "public_names.txt").read_text("utf-8").split()
    assert [name for name in names if SHADOWED.get(name, name) not in described] == []


def test_a_link_without_a_target_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[here](audit.md#one) `[code](no.md)` [report](../../reports/published/index.html#law=stop) {}"
    monkeypatch.setattr(Path, "read_text", lambda *args: text.format("[file](../../README.md)"))
    report, file = "(report/index.html#law=stop)", "(https://x/blob/main/README.md)"
    assert staged(PAGE, "https://x") == f"[here](audit.md#one) `[code](no.md)` [report]{report} [file]{file}"
    monkeypatch.setattr(Path, "read_text", lambda *args: text.format("[gone](gone.md)"))
    with pytest.raises(BrokenSite, match=r"docs/pages/audit\.md: the link gone\.md has no target"):
        staged(PAGE, "")


def test_pages_are_accessible_and_searchable_and_request_nothing_elsewhere(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with watched(browser, address, "data:", "blob:") as opens:
        for page, size, scheme in product(PAGES, SIZES, SCHEMES):
            opened = opens(address + page, size=size, scheme=scheme, ready=False)
            photograph(opened, f"site-{page.replace('/', '-')}-{size}-{scheme}", tmp_path)
            assert axe_findings(opened) == [], (page, size, scheme)
            assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth"), (page, size)
            opened.close()
        for words, first in (("StreamDecoder", "api/responses.html"), ("parallel tool calls", ".html")):
            opened = opens(address + "index.html", ready=False)
            opened.get_by_role("button", name="Search").click()
            opened.get_by_role("combobox", name="Search").fill(words)
            expect(opened.get_by_role("option").first).to_have_attribute("href", re.compile(re.escape(first)))
        expect(opens(address + "report/index.html").get_by_role("heading").first).to_be_visible()
