"""The digest covers the values of the interactions, not their layout in the file."""

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


def test_the_layout_of_the_yaml_does_not_change_the_digest(tmp_path: Path) -> None:
    path = made(tmp_path, interaction("data: {}\n\ndata: é\r\n\n"), interaction(b"\xff\x00"))
    before = load(path).digest
    content = yaml.safe_load(path.read_bytes())
    styles: list[Any] = [{"sort_keys": True}, {"default_flow_style": True}, {"width": 20}, {"default_style": '"'}]
    for style in styles:
        path.write_bytes(yaml.safe_dump(content, **style, encoding="utf-8"))
        assert load(path).digest == before, style


def changed(*path: str, value: Any) -> Any:
    copied = place = copy.deepcopy(ONE)
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return copied


def test_the_digest_covers_every_value_and_its_type_but_not_whether_text_is_bytes() -> None:
    answer = ONE["response"]["body"]["string"]
    others: list[Any] = [
        [],
        [ONE, ONE],
        *(
            [changed("request", *path, value=value)]
            for *path, value in (
                ("method", "GET"),
                ("uri", "https://elsewhere.example/"),
                *(("body", value) for value in (None, "")),
                ("headers", {}),
                ("headers", {"content-type": "application/json"}),
                ("headers", {"Content-Type": ["application/json"]}),
            )
        ),
        *([changed("response", "status", "code", value=code)] for code in (201, "200", 200.0)),
        [changed("response", "body", "string", value=answer + " ")],
        [changed("response", "grpc", value={"code": "OK"})],
        [{"request": ONE["response"], "response": ONE["request"]}],
    ]
    digests = [digest(one) for one in ([ONE], *others)]
    assert len(set(digests)) == len(digests)
    assert digest([changed("response", "body", "string", value=answer.encode())]) == digest([ONE])


@pytest.mark.parametrize(("one", "other"), [(["ab", "c"], ["a", "bc"]), ([["a"], "b"], [["a", "b"]]), ([True], [1])])
def test_the_borders_of_values_count(one: list[Any], other: list[Any]) -> None:
    assert digest(one) != digest(other)


def test_a_date_has_a_digest_and_a_set_has_not() -> None:
    assert digest([{"when": date(2026, 1, 1)}]) != digest([{"when": "2026-01-01"}])
    with pytest.raises(UnreadableCassette, match="a set is not plain data"):
        digest([{1, 2}])


def test_it_does_not_change_from_release_to_release() -> None:
    fixed = [{"request": {"uri": "u", "body": None}, "response": {"n": 1, "b": b"\xff", "l": [True, 1.5]}}]
    assert digest(fixed) == "sha256:978f5c93c3f7747bf67f7c58ff3e44ee43c9289d2d077c0385319a619adf29cf"
