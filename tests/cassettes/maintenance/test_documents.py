"""Documents: one value changes, and the rest of the text stays as it is. Nothing remains of a key that YAML spells over
several lines."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolparity.cassettes.documents import changes, load
from toolparity.cassettes.errors import UnreadableCassette, UnreadableSource
from toolparity.cassettes.maintenance.broken_keys import without_tails
from toolparity.cassettes.maintenance.scrubbing import scrubbed_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TREES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.none(), st.booleans(), st.binary(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS.filter(bool), inner, max_size=4)),
    max_leaves=12,
)


def shifted(value: Any) -> Any:
    """Every string with other letters, and every second one longer."""
    if isinstance(value, str):
        return value.translate(str.maketrans("abcdefghij", "klmnopqrst")) + ("!é" if len(value) % 2 else "")
    if isinstance(value, bytes):
        return value + b"\xff"
    if isinstance(value, dict):
        return {name: shifted(member) for name, member in value.items()}
    return [shifted(item) for item in value] if isinstance(value, list) else value


def without_bytes(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: without_bytes(member) for name, member in value.items()}
    return [without_bytes(item) for item in value] if isinstance(value, list) else value


ANY_STYLE = st.sampled_from([None, "'", '"', "|", ">"])


@given(tree=st.lists(TREES, min_size=1), style=ANY_STYLE, width=st.sampled_from([20, 80]))
def test_yaml_of_any_style_reads_back_with_the_new_values(tree: Any, style: str | None, width: int) -> None:
    text = yaml.safe_dump({"it": tree}, default_style=style, width=width, allow_unicode=width == 80, sort_keys=False)
    try:
        document = load(text.encode(), "a.yaml")
    except UnreadableCassette:  # our loader accepts text as names only: "1" in another style is a number
        return
    new = shifted(document.data)
    out = document.replaced(dict(changes(document.data, new)))
    assert load(out.encode(), "a.yaml").data == new
    assert document.replaced({}) == text


@given(tree=TREES, ascii=st.booleans(), indent=st.sampled_from([None, 2]))
def test_json_reads_back_with_the_new_values(tree: Any, ascii: bool, indent: int | None) -> None:
    value = {"it": without_bytes(tree)}
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    document = load(text.encode(), "a.json")
    new = shifted(value)
    out = document.replaced(dict(changes(value, new)))
    assert json.loads(out) == new
    assert out.count("\n") == text.count("\n")
    lines = load(f"{json.dumps(value)}\n\n{json.dumps(value)}\n".encode(), "a.jsonl")
    both = lines.replaced(dict(changes(lines.data, [new, new])))
    assert load(both.encode(), "a.jsonl").data == [new, new]
    assert both.splitlines()[1] == ""


def test_the_style_of_a_value_stays() -> None:
    for before, after in (
        ("a: b  # comment\n", "a: c  # comment\n"),
        ("a: 'b''b'\n", "a: 'c''c'\n"),
        ('a: "b\\u00e9\\\n  b"\n', 'a: "c\\u00e9\\\n  c"\n'),
        ("a: b\n   b\n", "a: c\n   c\n"),
        ("a: |\n    b\n\n    b\nz: 1\n", "a: |\n    c\n\n    c\nz: 1\n"),
        ("a: |-\n  b\n", "a: |-\n  c\n"),
        ("{a: b, z: [b]}\n", "{a: c, z: [b]}\n"),
        ("a: &x b\nz: *x\n", "a: &x c\nz: *x\n"),
        ("\ufeffa: b\n", "\ufeffa: c\n"),
    ):
        document = load(before.encode(), "a.yaml")
        assert document.replaced({("a",): document.data["a"].replace("b", "c")}) == after
    document = load(b"a: &x {k: b}\nz: [*x]\n", "a.yaml")
    assert document.replaced({("z", 0, "k"): "c"}) == "a: &x {k: c}\nz: [*x]\n", "behind an alias, at its anchor"


def test_binary_keeps_the_layout_of_its_base64() -> None:
    text = yaml.safe_dump({"a": bytes(100), "b": 1})
    out = load(text.encode(), "a.yaml").replaced({("a",): b"\1" * 100})
    assert load(out.encode(), "a.yaml").data["a"] == b"\1" * 100
    assert [len(line) for line in out.splitlines()] == [len(line) for line in text.splitlines()]


def test_changes_of_the_shape_and_other_files_are_refused() -> None:
    with pytest.raises(ValueError, match="the shape changed at a"):
        list(changes({"a": 1}, {"a": 2}))
    for name, data in (("a.txt", b"x"), ("a.json", b"{"), ("a.yaml", b"\xff"), ("a.jsonl", b"{}\n{")):
        with pytest.raises(UnreadableSource):
            load(data, name)


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
