"""A real browser for the pages: whatever one does with them, they ask nothing of the network and say nothing wrong."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.support.programs import needed

#: Name -> width and height in pixels.
SIZES = {"desktop": (1440, 900), "laptop": (1024, 768), "phone": (390, 844)}
SCHEMES = ("light", "dark")
#: The browser itself may not go anywhere either.
_QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: Longer than anything takes, on a machine that is busy with other things.
_PATIENCE = 30_000

Open = Callable[..., Page]
expect.set_options(timeout=_PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium as the system has it. For one module: as long as it is there, an event loop runs in this thread."""
    path = needed("chromium", "chromium-browser", "google-chrome", what="A browser")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=path, args=_QUIET)
        yield made
        made.close()


@contextmanager
def watched(browser: Browser, *own: str, ignored: Callable[[str], bool] = lambda problem: False) -> Iterator[Open]:
    """Opens pages of a browser: ``opens(address, size="phone", scheme="dark")``.

    At the end none of them may have written to the console, or requested anything but addresses that begin with
    ``own``. ``ignored``: the problems that a test causes.
    """
    problems: list[str] = []
    contexts = []
    note = problems.append

    def opens(
        address: str, *, size: str = "desktop", scheme: str = "light", scripts: bool = True, ready: bool = True
    ) -> Page:
        context = browser.new_context(
            viewport=ViewportSize(width=SIZES[size][0], height=SIZES[size][1]),
            has_touch=size == "phone",
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        page.on("console", lambda message: note(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: note(f"error: {error}"))
        page.on("dialog", lambda dialog: (note(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: None if request.url.startswith(own) else note(f"request: {request.url}"))
        page.goto(address)
        if scripts and ready:
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield opens
    for context in contexts:
        context.close()
    assert [problem for problem in problems if not ignored(problem)] == []


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a page from disk: ``opened(data, "#law=order", size="phone", scheme="dark")``."""
    with watched(browser, "file:", "data:", "blob:") as opens:

        def from_disk(data: bytes, address: str = "", **options: Any) -> Page:
            (path := tmp_path / f"page-{hashlib.sha256(data).hexdigest()}.html").write_bytes(data)
            return opens(path.as_uri() + address, ready=b'id="data"' in data, **options)

        yield from_disk


def axe_findings(page: Page, only: str | None = None, without: Sequence[str] = ()) -> list[str]:
    """The findings of axe-core, of every severity: "color-contrast (serious): .quiet".

    ``only``, ``without``: parts of the page, as selectors of CSS. A whole page of 17,000 elements takes 15 seconds.
    """
    parts = {"exclude": [[part] for part in without]} | ({"include": [[only]]} if only else {})
    violations = Axe().run(page, context=parts if only or without else None).response["violations"]
    return [f"{one['id']} ({one['impact']}): {one['nodes'][0]['html'][:200]}" for one in violations]


def photograph(page: Page, name: str, tmp_path: Path) -> None:
    """A screenshot for people, in TOOLPARITY_SCREENSHOTS where CI keeps them."""
    folder = Path(os.environ.get("TOOLPARITY_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
