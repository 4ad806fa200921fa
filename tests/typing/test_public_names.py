"""Names of wires and policies are Literal types: mypy finds a typo, and the types have the names of the tables."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from mypy import api

from toolparity import Policy, Wire
from toolparity.normalizer.errors import PolicyError, UnknownWire
from toolparity.normalizer.policies import POLICIES, policy_name
from toolparity.normalizer.wires.registry import WIRES, wire_name

ROOT = Path(__file__).resolve().parents[2]


def test_mypy_accepts_the_names_and_finds_each_typo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    read = ROOT / "tests" / "typing" / "public_names.py"
    output, errors, code = api.run(["--config-file", "pyproject.toml", "--warn-unused-ignores", str(read)])
    assert (code, errors) == (0, ""), output


def test_the_type_of_a_wire_has_the_names_of_the_built_in_wires() -> None:
    assert set(get_args(Wire)) == set(WIRES)


def test_the_type_of_a_policy_has_the_names_of_the_table_of_policies() -> None:
    assert set(get_args(Policy)) == set(POLICIES)


def test_a_name_from_outside_is_checked() -> None:
    assert [wire_name(name) for name in get_args(Wire)] == list(get_args(Wire))
    assert [policy_name(name) for name in get_args(Policy)] == list(get_args(Policy))
    for name in ("", "openai.Chat", "openai.chat "):
        with pytest.raises(UnknownWire, match="unknown wire"):
            wire_name(name)
    for name in ("", "First", "first "):
        with pytest.raises(PolicyError, match="unknown policy"):
            policy_name(name)
