"""The pages: their generated parts are current, their links lead somewhere, and `python -m docs` says what is not."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from docs.__main__ import NAMES, changed
from docs.generate import PAGES, ROOT, filled, peers, wire_features
from tests.support.published import published
from tests.support.wires import WIRES

_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<to>[^)\s]+)\)|!\[[^\]]*\]\((?P<image>[^)\s]+)\)")
#: The page that is made of the published results.
PEERS = pytest.param(
    "peers",
    marks=pytest.mark.page(
        "reports/published",
        "conformance/baselines",
        "conformance/reproductions",
        "docs/pages/peers.md",
        "docs/generate/peers.py",
    ),
)


@pytest.mark.parametrize("name", [PEERS, *sorted({*NAMES} - {"peers"})])
def test_the_generated_files_are_current(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "load", lambda path: published())
    assert [str(path) for path in changed([name])] == [], f"run python -m docs {name}"


def test_every_generator_is_in_the_list() -> None:
    modules = {
        path.stem for path in (ROOT / "docs" / "generate").glob("*.py") if "def files(" in path.read_text("utf-8")
    }
    assert modules == {*NAMES}


def test_a_page_without_a_place_for_a_block_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"findings\.md has no block 'absent'"):
        filled("findings.md", {"absent": "text"})


def test_the_command_reports_files_that_are_not_current(tmp_path: Path) -> None:
    page = PAGES / "serve.md"
    code = (
        "import sys; from docs import __main__ as docs; from docs.generate import serve; "
        f"serve.files = lambda: {{__import__('pathlib').Path({str(page)!r}): 'other'}}; sys.exit(docs.main())"
    )
    before = page.read_bytes()
    run = subprocess.run(
        [sys.executable, "-c", code, "--check", "serve"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (1, "docs/pages/serve.md\n")
    assert page.read_bytes() == before


def links(page: Path) -> Iterator[str]:
    """The targets of the links and images of a page, without those of other sites and of code."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for found in _LINK.finditer(text):
        target = found["to"] or found["image"]
        if not re.match(r"\w+:", target):
            yield target


@cache
def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_relative_link_leads_to_a_file_and_a_heading_and_every_page_is_linked() -> None:
    dead, linked = [], set()
    pages = [*ROOT.glob("*.md"), *PAGES.glob("*.md")]
    for page in pages:
        for target in links(page):
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            linked.add(file)
            if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
                dead.append(f"{page.relative_to(ROOT)}: {target}")
    assert dead == []
    assert len(pages) > 30
    assert [path.name for path in PAGES.iterdir() if path not in linked] == []


# The features of the wires


@pytest.mark.parametrize("wire", WIRES)
def test_a_feature_without_a_loss_is_read_back_as_it_was_written(wire: str) -> None:
    supported = [name for name in wire_features.PROBES if wire_features.cell(name, wire) == "yes"]
    assert [name for name in supported if not wire_features.kept(name, wire)] == []
    assert supported


def test_each_wire_can_send_its_own_reasoning_back() -> None:
    """In one of the forms at least; a signature and encrypted reasoning are what providers need back."""
    own = [name for name, probe in wire_features.PROBES.items() if probe.own]
    assert [w for w in WIRES if not any(wire_features.cell(name, w) == "yes" for name in own)] == []
