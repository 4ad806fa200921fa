"""The page about tests of turns: its examples run, and its tables list the faults."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conformance.pages import DOCS, blocks
from toolparity.turns import testing

PAGE = "turn-testing.md"


@pytest.mark.page("docs/pages/turn-testing.md")
def test_the_examples_of_the_page_run() -> None:
    namespace: dict[str, Any] = {}
    for block in blocks(PAGE):
        exec(compile(block.text, PAGE, "exec", dont_inherit=True), namespace)
    tests = [value for name, value in namespace.items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        test()


def test_the_tables_of_the_page_list_the_faults() -> None:
    listed = set(re.findall(r"^\| `(\w+)\(", (DOCS / PAGE).read_text("utf-8"), re.MULTILINE))
    faults = {type(fault).__name__ for fault in (*testing.PROVIDER_FAULTS.values(), *testing.TOOL_FAULTS.values())}
    assert listed == faults


def test_every_public_name_can_be_imported() -> None:
    assert len(set(testing.__all__)) == len(testing.__all__)
    assert all(getattr(testing, name) is not None for name in testing.__all__)
