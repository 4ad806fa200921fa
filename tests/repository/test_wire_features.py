"""The page of the features of the wires is current, and what it calls supported comes back from the wire."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.generate import wire_features
from tests.support.wires import WIRES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("wire", WIRES)
def test_a_feature_without_a_loss_is_read_back_as_it_was_written(wire: str) -> None:
    supported = [name for name in wire_features.PROBES if wire_features.cell(name, wire) == "yes"]
    assert [name for name in supported if not wire_features.kept(name, wire)] == []
    assert supported


def test_each_wire_can_send_its_own_reasoning_back() -> None:
    """In one of the forms at least; a signature and encrypted reasoning are what providers need back."""
    own = [name for name, probe in wire_features.PROBES.items() if probe.own]
    assert [w for w in WIRES if not any(wire_features.cell(name, w) == "yes" for name in own)] == []
