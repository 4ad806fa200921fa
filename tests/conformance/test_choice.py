"""Which cases a run picks."""

from __future__ import annotations

from toolparity.conformance.runner.judge import CaseFilter


def surfaces(**chosen: tuple[str, ...]) -> set[str]:
    return {case.surface for case in CaseFilter(**chosen).cases()}


def test_a_wire_is_every_provider_that_speaks_it() -> None:
    assert surfaces(wires=("openai.chat",)) >= {"openai.chat", "xai.chat"}
    assert surfaces(wires=("anthropic.messages",)) == {"anthropic.messages"}


def test_a_surface_is_one_provider_also_where_a_wire_is_called_like_it() -> None:
    assert surfaces(surfaces=("openai.chat",)) == {"openai.chat"}
    assert surfaces(surfaces=("xai.chat",)) == surfaces(wires=("xai.chat",)) == {"xai.chat"}


def test_wires_and_surfaces_are_picked_together_and_within_their_providers() -> None:
    assert surfaces(wires=("anthropic.messages",), surfaces=("xai.chat",)) == {"anthropic.messages", "xai.chat"}
    assert surfaces(wires=("openai.chat",), providers=("xai",)) == {"xai.chat"}


def test_what_is_not_chosen_is_all() -> None:
    assert len(surfaces()) >= 6
