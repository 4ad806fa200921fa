"""Whose models a name belongs to, as far as the name shows: for requests that go to another provider."""

from __future__ import annotations

import re

from ..conversation import Request
from . import HOME
from .write_context import Carrying

#: How the names of a vendor's models begin. Vendors that only host the models of others are not here.
FAMILIES: dict[str, str] = {
    "openai": r"gpt-|chatgpt-|codex-|o[1-9](-|$)",
    "anthropic": r"claude",
    "xai": r"grok",
    "google": r"gemini",
    "deepseek": r"deepseek",
    "mistral": r"(mi|mini|magi|code|dev|pix)(s|x)?tral",
    "cohere": r"command-",
}


def note_model(request: Request, carrying: Carrying) -> None:
    """Report a model that the target does not have: the name is sent as it is, and another one is the caller's choice.

    Only a request of another wire or provider can name one, and only a name that tells whose it is shows it.
    """
    if request.model is None:
        return
    target = carrying.provider or (None if carrying.wire == "openai.chat" else HOME[carrying.wire])
    if request.wire == carrying.wire and (request.provider is None or carrying.provider in (None, request.provider)):
        return
    owner = owner_of(request.model)
    if owner is not None and target in FAMILIES and owner != target:
        carrying.lose("model", f"{request.model} is a model of {owner}; its name was sent to {target} unchanged")


def owner_of(model: str) -> str | None:
    """The vendor whose models have such names; None where the name does not show it."""
    name = model.lower().rpartition("/")[2]
    return next((owner for owner, heads in FAMILIES.items() if re.match(heads, name)), None)
