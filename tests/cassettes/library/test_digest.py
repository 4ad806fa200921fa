"""The digest: of what was said, not of how it is written down."""

from __future__ import annotations

import copy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cassettes.library.making import interaction, made
from toolparity.cassettes.errors import UnreadableCassette
from toolparity.cassettes.library import digest, load

ONE = interaction()


def test_the_layout_of_the_yaml_does_not_count(tmp_path: Path) -> None:
    path = made(tmp_path, interaction("data: {}\n\ndata: é\r\n\n"), interaction(b"\xff\x00"))
    before = load(path).digest
    content = yaml.safe_load(path.read_bytes())
    for style in (
        {"sort_keys": True},
        {"default_flow_style": True},
        {"width": 20, "indent": 7},
        {"default_style": '"'},
    ):
        path.write_text(yaml.safe_dump(content, **style), "utf-8")
        assert load(path).digest == before, style


def test_text_and_its_bytes_are_one() -> None:
    other = copy.deepcopy(ONE)
    other["request"]["body"] = other["request"]["body"].encode()
    other["response"]["body"]["string"] = other["response"]["body"]["string"].encode()
    assert digest([other]) == digest([ONE])


def _changes() -> list[Any]:
    def change(*path: str, value: Any) -> Any:
        changed = copy.deepcopy(ONE)
        at = changed
        for name in path[:-1]:
            at = at[name]
        at[path[-1]] = value
        return changed

    return [
        [],
        [ONE, ONE],
        [change("request", "method", value="GET")],
        [change("request", "uri", value="https://elsewhere.example/")],
        [change("request", "body", value=None)],
        [change("request", "body", value="")],
        [change("request", "headers", value={})],
        [change("request", "headers", value={"content-type": "application/json"})],
        [change("request", "headers", value={"Content-Type": ["application/json"]})],
        [change("response", "status", "code", value=201)],
        [change("response", "status", "code", value="200")],
        [change("response", "status", "code", value=200.0)],
        [change("response", "body", "string", value=ONE["response"]["body"]["string"] + " ")],
        [change("response", "grpc", value={"code": "OK"})],
        [{"request": ONE["response"], "response": ONE["request"]}],
    ]


def test_everything_else_counts() -> None:
    digests = [digest(one) for one in ([ONE], *_changes())]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(("one", "other"), [(["ab", "c"], ["a", "bc"]), ([["a"], "b"], [["a", "b"]]), ([True], [1])])
def test_values_do_not_run_into_each_other(one: list[Any], other: list[Any]) -> None:
    assert digest(one) != digest(other)


def test_what_is_no_plain_data_has_none() -> None:
    assert digest([{"when": date(2026, 1, 1)}]) != digest([{"when": "2026-01-01"}])
    with pytest.raises(UnreadableCassette, match="a set is not plain data"):
        digest([{1, 2}])


def test_it_does_not_change_from_release_to_release() -> None:
    fixed = [{"request": {"uri": "u", "body": None}, "response": {"n": 1, "b": b"\xff", "l": [True, 1.5]}}]
    assert digest(fixed) == "sha256:978f5c93c3f7747bf67f7c58ff3e44ee43c9289d2d077c0385319a619adf29cf"
