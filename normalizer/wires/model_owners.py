"""Vendors of models, recognized by the model's name: for requests that go to another provider."""

from __future__ import annotations

import re

from ..conversation import Request
from .registry import spec, specs
from .write_context import WriteContext

#: Patterns for the beginning of the model names of vendors that own no wire here. Vendors that only host the models of
#: others are not listed. The specs of the wires have the patterns of their owners.
_OTHER_VENDORS = {
    "deepseek": r"deepseek",
    "mistral": r"(mi|mini|magi|code|dev|pix)(s|x)?tral",
}


def report_foreign_model(request: Request, context: WriteContext) -> None:
    """Report the loss `model` if the request names a model that the target provider does not have.

    The name is sent unchanged, because the choice of another model belongs to the caller. Requests from the same wire
    and provider are not checked, nor are names that show no vendor.
    """
    if request.model is None:
        return
    if request.wire == context.wire and (request.provider is None or context.provider in (None, request.provider)):
        return
    wire = spec(context.wire)
    target = context.provider or (None if wire.many_providers else wire.owner)
    vendor = vendor_of(request.model)
    if vendor not in (None, target) and target in vendors():
        context.lose("model", f"{request.model} is a model of {vendor}; its name was sent to {target} unchanged")


def vendor_of(model: str) -> str | None:
    """Return the vendor of a model, or None if the name does not show it."""
    name = model.lower().rpartition("/")[2]
    return next((vendor for vendor, pattern in vendors().items() if re.match(pattern, name)), None)


def vendors() -> dict[str, str]:
    """Return the pattern for the beginning of each vendor's model names."""
    vendors: dict[str, str] = {}
    for wire in specs():
        if wire.models:
            vendors.setdefault(wire.owner, wire.models)
    return {**vendors, **{name: pattern for name, pattern in _OTHER_VENDORS.items() if name not in vendors}}
