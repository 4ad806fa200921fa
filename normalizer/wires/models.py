"""Vendors of models, recognized by the model's name: for requests that go to another provider."""

from __future__ import annotations

import re

from ..conversation import Request
from .registry import spec
from .write_context import WriteContext

#: Patterns for the beginning of a vendor's model names. Vendors that only host the models of others are not listed.
FAMILIES: dict[str, str] = {
    "openai": r"gpt-|chatgpt-|codex-|o[1-9](-|$)",
    "anthropic": r"claude",
    "xai": r"grok",
    "google": r"gemini",
    "deepseek": r"deepseek",
    "mistral": r"(mi|mini|magi|code|dev|pix)(s|x)?tral",
    "cohere": r"command-",
}


def report_foreign_model(request: Request, context: WriteContext) -> None:
    """Report the loss `model` if the request names a model that the target provider does not have.

    The name is sent unchanged, because the choice of another model belongs to the caller. Requests from the same wire
    and provider are not checked, nor are names that show no vendor.
    """
    if request.model is None:
        return
    wire = spec(context.wire)
    target = context.provider or (None if wire.many_providers else wire.owner)
    if request.wire == context.wire and (request.provider is None or context.provider in (None, request.provider)):
        return
    owner = owner_of(request.model)
    if owner is not None and target in FAMILIES and owner != target:
        context.lose("model", f"{request.model} is a model of {owner}; its name was sent to {target} unchanged")


def owner_of(model: str) -> str | None:
    """Return the vendor of a model, or None if the name does not show it."""
    name = model.lower().rpartition("/")[2]
    return next((owner for owner, heads in FAMILIES.items() if re.match(heads, name)), None)
