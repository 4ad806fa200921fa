"""Names of wires and policies are Literal types: mypy finds a typo, and the types have the names of the tables."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from toolparity import (
    Policy,
    RequestWriter,
    StreamDecoder,
    Wire,
    check_request,
    normalize,
    read_request,
    select,
    write_request,
)
from toolparity.conformance.subjects import SubjectExchange
from toolparity.normalizer.errors import PolicyError, UnknownWire
from toolparity.normalizer.policies import POLICIES, policy_name
from toolparity.normalizer.requests import with_policy
from toolparity.normalizer.wires.registry import WIRES, wire_name
from toolparity.textmode import limit_of
from toolparity.turns.clients import client
from toolparity.turns.options import TurnOptions

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.page("tests/typing", "toolparity/__init__.py", "normalizer/model.py", "normalizer/requests.py")
def test_mypy_accepts_the_names_and_finds_each_typo() -> None:
    read = ROOT / "tests" / "typing" / "public_names.py"
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--warn-unused-ignores", str(read)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_the_public_names_are_those_of_the_list() -> None:
    """Programs import these names: remove one from the list only with an entry in the changelog."""
    listed = (ROOT / "tests" / "typing" / "public_names.txt").read_text("utf-8").splitlines()
    modules = dict.fromkeys(name.rpartition(".")[0] for name in listed)
    found = [f"{name}.{public}" for name in modules for public in sorted(import_module(name).__all__)]
    assert found == listed
    assert all(hasattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in listed)


def test_the_parameters_for_names_have_these_types() -> None:
    """In the signatures that `public_names.py` calls, so that mypy sees a typo."""
    named: dict[str, tuple[Any, ...]] = {
        "Wire": (normalize, StreamDecoder, read_request, write_request, RequestWriter, check_request, client),
        "Policy": (select, with_policy, limit_of),
    }
    for kind, functions in named.items():
        for function in functions:
            annotations = [str(one.annotation) for one in inspect.signature(function).parameters.values()]
            assert {kind, f"{kind} | None"} & {*annotations}, function
    assert [SubjectExchange.__annotations__[name] for name in ("wire", "policy")] == ["Wire", "Policy"]
    assert get_type_hints(TurnOptions)["policy"] == Policy


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
