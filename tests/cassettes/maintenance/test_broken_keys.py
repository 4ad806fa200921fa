"""Keys that YAML spells over several lines: nothing of them remains, in any style of scalar."""

from __future__ import annotations

from itertools import pairwise

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolparity.cassettes.documents import load
from toolparity.cassettes.maintenance.broken_keys import without_tails
from toolparity.cassettes.maintenance.scrubbing import scrubbed_text

KEY = "sk-ant-" + "api03-" + "Qz7Lw2Xn9Rt4Vb6Ky1Hs8Jd3Mf5Pc0GaTe2Wq8"
#: Style -> the text before the value, the break of a line, and the text after the value.
STYLES = {
    "plain": ("", "\n      ", ""),
    "single-quoted": ("'", "\n      ", "'"),
    "double-quoted": ('"', "\n      ", '"'),
    "continued": ('"', "\\\n      ", '"'),
    "folded": (">\n      ", "\n      ", ""),
    "folded and stripped": (">-\n      ", "\n      ", ""),
    "literal": ("|\n      ", "\n      ", ""),
    "literal and kept": ("|+\n      ", "\n      ", ""),
}


def cassette(value: str) -> str:
    return f"""interactions:
- request:
    method: POST
    uri: https://api.example.com/v1
    headers: {{}}
    body: {value}
  response:
    status: {{code: 200, message: OK}}
    headers: {{}}
    body: {{string: ok}}
version: 1
"""


@pytest.mark.parametrize("style", STYLES)
@given(first=st.integers(24, len(KEY) - 8), twice=st.booleans(), name=st.sampled_from(["my key is ", ""]))
def test_no_part_of_a_broken_key_remains(style: str, first: int, twice: bool, name: str) -> None:
    before, line_end, after = STYLES[style]
    cuts = [first] if first + 16 > len(KEY) or not twice else [first, first + 8]
    parts = [KEY[start:end] for start, end in pairwise([0, *cuts, len(KEY)])]
    text = cassette(before + name + line_end.join(parts) + " and more" + after)
    scrubbed, _, _ = scrubbed_text(load(text.encode(), "a.yaml"), "a.yaml")
    old, new = (yaml.safe_load(each)["interactions"][0]["request"]["body"] for each in (text, scrubbed))
    assert len(new) == len(old)
    assert new.startswith(name)
    assert new.rstrip().endswith(" and more")
    assert not [part for part in parts if part in new]
    assert len(scrubbed.splitlines()) == len(text.splitlines()) or style.startswith("folded")


@pytest.mark.parametrize("following", ["and Qwen3-32B", "gpt-4o-mini", "2026-11-26T10", "HTTP/1.1", "Usage"])
def test_words_after_a_key_stay(following: str) -> None:
    old = f"{KEY} {following}"
    new = "R" * len(KEY) + old[len(KEY) :]
    assert without_tails(old, new) == new
