"""Documents: one value changes, and the rest of the text stays as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolparity.cassettes.documents import changes, load
from toolparity.cassettes.errors import UnreadableCassette, UnreadableSource

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


STYLES = st.sampled_from([None, "'", '"', "|", ">"])


@given(tree=st.lists(TREES, min_size=1), style=STYLES, width=st.sampled_from([20, 80]))
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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: b  # comment\n", "a: c  # comment\n"),
        ("a: 'b''b'\n", "a: 'c''c'\n"),
        ('a: "b\\u00e9\\\n  b"\n', 'a: "c\\u00e9\\\n  c"\n'),
        ("a: b\n   b\n", "a: c\n   c\n"),
        ("a: |\n    b\n\n    b\nz: 1\n", "a: |\n    c\n\n    c\nz: 1\n"),
        ("a: |-\n  b\n", "a: |-\n  c\n"),
        ("{a: b, z: [b]}\n", "{a: c, z: [b]}\n"),
        ("a: &x b\nz: *x\n", "a: &x c\nz: *x\n"),
        ("\ufeffa: b\n", "\ufeffa: c\n"),
    ],
)
def test_the_style_of_a_value_stays(before: str, after: str) -> None:
    document = load(before.encode(), "a.yaml")
    new = document.data["a"].replace("b", "c")
    assert document.replaced({("a",): new}) == after


def test_binary_keeps_the_layout_of_its_base64() -> None:
    text = yaml.safe_dump({"a": bytes(100), "b": 1})
    document = load(text.encode(), "a.yaml")
    out = document.replaced({("a",): b"\1" * 100})
    assert load(out.encode(), "a.yaml").data["a"] == b"\1" * 100
    assert [len(line) for line in out.splitlines()] == [len(line) for line in text.splitlines()]


def test_a_value_behind_an_alias_changes_at_its_anchor() -> None:
    document = load(b"a: &x {k: b}\nz: [*x]\n", "a.yaml")
    assert document.replaced({("z", 0, "k"): "c"}) == "a: &x {k: c}\nz: [*x]\n"


def test_changes_of_the_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="the shape changed at a"):
        list(changes({"a": 1}, {"a": 2}))


@pytest.mark.parametrize(
    ("name", "data"), [("a.txt", b"x"), ("a.json", b"{"), ("a.yaml", b"\xff"), ("a.jsonl", b"{}\n{")]
)
def test_other_files_are_errors(name: str, data: bytes) -> None:
    with pytest.raises(UnreadableSource):
        load(data, name)
