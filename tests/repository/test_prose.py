"""The prose check finds what it is for, and leaves code alone."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

CHECK: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / ".ci" / "prose.py"), run_name="prose")
SOURCE = '''"""A docstring that is told."""
told = 1  # a comment that stands
MESSAGE = f"it was told {told} by nobody"
KEY = "told"
BYTES = b"told and stood"


def stood():
    """Another one."""
'''


def test_docstrings_comments_and_messages_are_prose_and_code_is_not() -> None:
    lines = list(CHECK["of_python"](SOURCE, False))
    assert [line.number for line in lines] == [1, 2, 3, 9]
    assert "{told}" not in "".join(line.text for line in lines)


def test_names_in_tests_are_prose_and_strings_are_not() -> None:
    lines = [(line.number, line.text) for line in CHECK["of_python"](SOURCE, True)]
    assert {number for number, text in lines if "told" in text or "stood" in text} == {1, 2, 8}
    (name,) = CHECK["of_python"]("def test_aCall_is_told(): ...", True)
    assert name.text == "test a Call is told |"


def test_code_blocks_links_and_names_in_backquotes_are_left_out() -> None:
    text = "Some [words](told.md)\n```\ntold\n```\nand `told` at https://told.example/told"
    lines = [CHECK["without_code"](line.text) for line in CHECK["of_markdown"](text)]
    assert "told" not in "".join(lines)
    assert len(lines) == 2


def test_words_phrases_and_typing_errors_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text("It is told in silence.\nThis is no name, teh end.\nThere is no name.\n")
    monkeypatch.setitem(CHECK["main"].__globals__, "ROOT", tmp_path)
    monkeypatch.setitem(CHECK["main"].__globals__, "files", lambda paths: iter(["page.md"]))
    monkeypatch.setattr("sys.argv", ["prose"])
    assert CHECK["main"]() == 1
    found = [line.split(": use ")[0] for line in capsys.readouterr().out.splitlines()]
    assert found == ["page.md:1: 'in silence'", "page.md:1: 'told'", "page.md:2: 'is no name'", "page.md:2: 'teh'"]
