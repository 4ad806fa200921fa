"""Gateways that the suite can install, configure, start and stop. Each has one small module and a line in `KNOWN`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ..errors import GatewayFailed
from .form import KnownGateway

#: Name -> its module here, with the member ``GATEWAY``.
KNOWN: dict[str, str] = {
    "claude-code-router": "claude_code_router",
    "litellm-proxy": "litellm_proxy",
    "lm-proxy": "lm_proxy",
    "portkey": "portkey",
}
#: Shorter names.
ALIASES = {"litellm": "litellm-proxy"}


def known_gateway(name: str) -> KnownGateway:
    """Return a known gateway. Raises GatewayFailed for another name."""
    module = KNOWN.get(ALIASES.get(name, name))
    if module is None:
        raise GatewayFailed(f"unknown gateway: {name!r}", hint=f"one of {', '.join(KNOWN)}, or a URL")
    return cast(KnownGateway, import_module(f".{module}", __name__).GATEWAY)
