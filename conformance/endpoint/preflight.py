"""The first request to an endpoint: an address or a key that is wrong ends the run, with what to do."""

from __future__ import annotations

from typing import Any

from toolparity.cassettes import emulation_marker
from toolparity.normalizer import json_codec

from ..raw_client import RawClient, Reply, Unreachable
from .address import Endpoint
from .errors import EndpointFailed

_SHOWN = 200


def check_reply(reply: Reply, target: Endpoint, model: str) -> None:
    """Raise EndpointFailed if the reply shows that nothing can be judged: no access, a wrong path, or a web page."""
    where = target.url
    if not reply.status:
        raise EndpointFailed(reply.broken, where=where, hint="is it a server of this protocol (http or https)?")
    if _is_page(reply):
        hint = "pass the base URL of the API, as its SDK takes it, and not that of a web page"
        raise EndpointFailed(f"the endpoint answered HTTP {reply.status} with a web page", where=where, hint=hint)
    if reply.status in (401, 403):
        hint = "set the key in the variable of --api-key-env, or pass a header with --header"
        raise EndpointFailed(f"the endpoint refuses the key: {_shown(reply)}", where=where, hint=hint)
    if reply.status in (404, 405):
        path = target.path(model, stream=False)
        hint = f"the request went to {path}; check the URL, --wire and --model"
        raise EndpointFailed(
            f"the endpoint does not know this address or model: {_shown(reply)}", where=where, hint=hint
        )
    if 300 <= reply.status < 400:
        to = reply.headers.get("location", "another address").partition("?")[0]
        hint = "pass the address that it redirects to"
        raise EndpointFailed(f"the endpoint redirects to {to}", where=where, hint=hint)


def unreachable(target: Endpoint, error: Exception) -> EndpointFailed:
    """Return the error for an endpoint that does not reply."""
    if isinstance(error, TimeoutError):
        return EndpointFailed("no reply arrived in time", where=target.url, hint="raise --timeout, or check the server")
    reason = error.what if isinstance(error, Unreachable) else str(error)
    return EndpointFailed(f"the endpoint cannot be reached: {reason}", where=target.url, hint="is it running?")


def only_model(target: Endpoint, headers: dict[str, str], timeout: float) -> str:
    """Return the name of the only model of an endpoint, or of the first one of `toolparity serve`.

    Raises EndpointFailed if an endpoint lists none or several.
    """
    client = RawClient(target.parts, headers, timeout=timeout)
    try:
        reply = client.request("GET", target.models_path, None, {}) if target.models_path else Reply(404, b"")
    except (Unreachable, TimeoutError) as error:
        raise unreachable(target, error) from None
    finally:
        client.close()
    if reply.status in (401, 403) or _is_page(reply):
        check_reply(reply, target, "")
    names = _names(reply)
    if len(names) == 1 or (names and emulation_marker.HEADER in reply.headers):
        return names[0]
    answered = f" (HTTP {reply.status})" if reply.status not in (200, 404) else ""
    listed = f"the endpoint has {len(names)} models: {', '.join(names[:8])}" if names else "the endpoint lists no model"
    listed += answered
    raise EndpointFailed(listed, where=target.url, hint="pass one with --model")


def _names(reply: Reply) -> list[str]:
    """Return the names in a list of models, in the form of OpenAI and Anthropic, Bedrock, Gemini or Ollama."""
    try:
        body: Any = json_codec.decode(reply.body)
    except ValueError:
        return []
    if reply.status != 200 or not isinstance(body, dict):
        return []
    models = body.get("data") or body.get("models") or body.get("modelSummaries") or []
    names = [
        model.get("id") or model.get("modelId") or model.get("name") for model in models if isinstance(model, dict)
    ]
    return [name.removeprefix("models/") for name in names if isinstance(name, str)]


def _is_page(reply: Reply) -> bool:
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "text/html" or reply.body.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html"))


def _shown(reply: Reply) -> str:
    text = " ".join(reply.body[:_SHOWN].decode("utf-8", "replace").split())
    return f"HTTP {reply.status} {text}".rstrip()
