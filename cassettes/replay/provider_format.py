"""Error responses and lists of models in the format of a provider (see `toolparity.cassettes.emulated`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse, Response

from toolparity.normalizer import json_codec

from .. import emulation_marker
from ..emulated.encoding import Encoding
from ..emulated.script_player import ProviderRefusal
from ..errors import RequestNotRecorded
from ..surfaces import SURFACES, Surface
from . import faults
from .faults import Fault

_GATEWAY_PAGE = "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<h1>{0}</h1>\r\n</body>\r\n</html>\r\n"


class _OpenAI:
    """OpenAI's format, for wires whose emulation does not state another one."""

    @staticmethod
    def wrap_error(error: dict[str, Any]) -> dict[str, Any]:
        return {"error": error}

    @staticmethod
    def model_entry(model: str, provider: str) -> dict[str, Any]:
        return {"id": model, "object": "model", "created": 0, "owned_by": provider}

    @staticmethod
    def model_list(entries: list[dict[str, Any]]) -> dict[str, Any]:
        return {"data": entries, "object": "list"}


def member(surface: Surface, name: str) -> Callable[..., dict[str, Any]]:
    """Return a function of the emulation of the wire's owner, or that of OpenAI's format."""
    emulation = surface.spec.part("emulation", home="toolparity.cassettes.emulated")
    function: Callable[..., dict[str, Any]] = getattr(emulation, name, None) or getattr(_OpenAI, name)
    return function


def not_recorded(surface: Surface, error: RequestNotRecorded) -> Response:
    """Return 404 in a format that the SDKs show as a message."""
    return JSONResponse(member(surface, "wrap_error")({"type": "not_recorded", "message": str(error)}), 404)


def refused(surface: Surface, refusal: ProviderRefusal) -> Response:
    """Return the error response of a provider. Providers without an emulation get the format of the wire's owner."""
    known = SURFACES.get(surface.name)
    emulation: Any = (
        surface.spec.part("emulation", home="toolparity.cassettes.emulated") if known is None else known.emulation
    )
    status, headers, body = emulation.error(refusal)
    indented = getattr(emulation, "ENCODING", Encoding()).indented
    data = json.dumps(body, indent=2).encode() + b"\n" if indented else json_codec.encode(body)
    headers = {**headers, emulation_marker.HEADER: emulation_marker.EMULATED}
    return Response(data, refusal.status or status, headers, "application/json")


def unoffered(surface: Surface, words: str, status: int) -> Response:
    """Return the provider's error for an address that it does not have, with these words."""
    response = refused(surface, ProviderRefusal("not_found", words, status=status))
    if words in bytes(response.body).decode():
        return response
    # the provider's message says nothing about the address
    return JSONResponse(member(surface, "wrap_error")({"type": "not_found", "message": words}), status)


def with_fault(fault: Fault | None, surface: Surface, response: Response) -> Response:
    """Return a response as a fault orders it: the provider's error, or the response with another body."""
    if fault is None:
        return response
    if (failed := failure(fault, surface)) is not None:
        return failed
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    return Response(faults.spoiled(bytes(response.body), fault, streamed=False), response.status_code, headers)


def failure(fault: Fault | None, surface: Surface) -> Response | None:
    """Return the error response that a fault orders, None if it orders none."""
    if fault is None or not fault.is_("status", "html"):
        return None
    if fault.is_("status"):
        kind = faults.kind_of(fault.value)
        words = f"the request orders this error ({faults.HEADER}: {fault.text})"
        return refused(surface, ProviderRefusal(kind, words, status=fault.value, retry_after=fault.retry_after))
    try:
        title = f"{fault.value} {HTTPStatus(fault.value).phrase}"
    except ValueError:
        title = str(fault.value)
    headers = {} if fault.retry_after is None else {"retry-after": str(fault.retry_after)}
    headers[emulation_marker.HEADER] = emulation_marker.EMULATED
    return Response(_GATEWAY_PAGE.format(title), fault.value, headers, "text/html")
