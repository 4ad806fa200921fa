"""The client's first request for a scenario, on the client's wire.

The request offers the tools that the recorded response uses, and asks for the server tools and for the number of
choices that it has. So a gateway is never accused of leaving out what the client did not request.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from toolparity.cassettes.recorder.script_driver import opening
from toolparity.cassettes.recorder.sdks import sdk_module
from toolparity.cassettes.scripts import OfferedTool, Round, Script
from toolparity.cassettes.stated import model_for
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.conversation import Request, TextPart, ToolChoice, User
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.registry import spec

from ..cases.case import Case
from ..cases.expected import Expected
from ..cases.scenarios import Scenario, scenarios
from ..cases.traffic import responses
from ..oracle import facts
from .correlation import marked
from .errors import NotJudged

#: The user's message for a scenario that states none.
_ASK = "Do what is needed."
#: The token limit that a request states if its wire has an optional one, except the plain ones of `_WITHOUT_LIMIT`.
#: So a gateway that requires a limit fails in these cases, and the other cases judge the rest of it.
_LIMIT = 4096
_WITHOUT_LIMIT = ("single-call",)
#: The scenarios whose request requires a call. So a gateway that drops the setting fails in these cases only.
_WITH_REQUIRED_CALLS = ("parallel-three",)
#: Header -> value, in requests of these scenarios on Anthropic's wire. So a gateway that drops it fails in them only.
_BETAS = {"anthropic-beta": "interleaved-thinking-2025-05-14,files-api-2025-04-14"}
#: The number of requests that are kept: more than the cases that are judged at a time.
_FEW = 256
_ANYTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}


def client_surface(client: str, upstream: Surface) -> Surface:
    """Return the surface in whose dialect the client speaks: the upstream's if both have one wire."""
    if upstream.wire == client:
        return upstream
    owner = spec(client).owner
    return next(surface for surface in SURFACES.values() if (surface.wire, surface.provider) == (client, owner))


def further_headers(case: Case, client: str) -> dict[str, str]:
    """Return the headers that the client adds to the requests of a case."""
    return _BETAS if client == "anthropic.messages" and case.scenario in _WITH_REQUIRED_CALLS else {}


def first_request(case: Case, client: str, token: str) -> Request:
    """Return the first request of a case, with the token in the user's message.

    Raises NotJudged if the client's wire cannot ask for what the recorded response has.
    """
    request = _question(case, client)
    return replace(request, messages=[_marked(message, token) for message in request.messages])


@lru_cache(_FEW)
def _question(case: Case, client: str) -> Request:
    """Return the first request of a case without a token. A case sends it several times, in one thread."""
    scenario, upstream = scenarios()[case.scenario], SURFACES[case.surface]
    speaks = client_surface(client, upstream)
    request = _stated_request(case, speaks) or _scripted_request(scenario, case, speaks)
    if _states_limit(case, speaks):
        request = replace(request, params={facts(speaks.wire).limit: _LIMIT, **request.params})
    if case.scenario in _WITH_REQUIRED_CALLS:
        request = replace(request, tool_choice=ToolChoice("required"))
    encoded = write_request(request, speaks.wire, provider=speaks.provider)
    for loss in encoded.losses:
        if loss.code != "param":
            raise NotJudged(f"{client} cannot ask for it: {loss.message}")
    return request


def _states_limit(case: Case, speaks: Surface) -> bool:
    """Return whether the request has a token limit. Other providers of a wire have the parameter under other names."""
    provider = responses(case.scenario, case.surface, case.mode)[0].provider or speaks.provider
    if not facts(speaks.wire).limit or provider != speaks.provider:
        return False
    return case.stream or case.scenario not in _WITHOUT_LIMIT


def needs_other_model(case: Case, provider: str) -> bool:
    """Return whether a case states settings that the default models of a provider refuse."""
    script = scenarios()[case.scenario].script
    return script is not None and script.request is not None and model_for(script.request, provider) is not None


def write(request: Request, client: str, upstream: Surface) -> Any:
    """Return the body of a request on the client's wire, with the call ids that the gateway gave.

    The writer replaces ids that the wire's provider would reject. Clients return every id as it came.
    """
    speaks = client_surface(client, upstream)
    encoded = write_request(request, speaks.wire, provider=speaks.provider)
    if len(set(encoded.ids.values())) < len(encoded.ids):
        return encoded.body  # calls that have one id need different ones
    return _with_ids(encoded.body, encoded.ids) if encoded.ids else encoded.body


def _with_ids(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _with_ids(member, ids) for key, member in value.items()}
    if isinstance(value, list):
        return [_with_ids(item, ids) for item in value]
    return ids.get(value, value) if isinstance(value, str) else value


def _marked(message: Any, token: str) -> Any:
    parts = list(message.parts) if isinstance(message, User) else []
    for index, part in enumerate(parts):
        if isinstance(part, TextPart):
            parts[index] = replace(part, text=marked(part.text, token))
            return replace(message, parts=parts)
    return message


def _stated_request(case: Case, speaks: Surface) -> Request | None:
    """Return the request that a scenario's body states, or None if it states none."""
    scenario, upstream = scenarios()[case.scenario], SURFACES[case.surface]
    bodies = (body for body in scenario.file.bodies if (body.surface, body.stream) == (case.surface, case.stream))
    body = next(bodies, None)
    if body is None or body.request is None:
        return None
    request = read_request(body.request, upstream.wire, provider=upstream.provider)
    if not any(isinstance(message, User) for message in request.messages):
        request = replace(request, messages=[*request.messages, User([TextPart(_ASK)])])
    if speaks.wire == upstream.wire:
        extra = {"stream": True} if case.stream else {}
        return replace(request, model=speaks.model, params={**request.params, **extra})
    script = Script(case.scenario, "", [Round(ask=_ASK)])
    params = opening(script, speaks, stream=case.stream).params
    return replace(request, model=speaks.model, wire=speaks.wire, provider=speaks.provider, params=params)


def _scripted_request(scenario: Scenario, case: Case, speaks: Surface) -> Request:
    script = scenario.script or _script(scenario, case)
    kinds = {tool.kind for tool in script.tools}
    if "custom" in kinds and "custom" not in speaks.able:
        raise NotJudged(f"{speaks.wire} has no tools with free text")
    kinds_of_calls = {call.kind for call in _expected(scenario, case).calls}
    if speaks.wire != SURFACES[case.surface].wire and (built_in := sorted(kinds_of_calls - {"function", "custom"})):
        raise NotJudged(f"{speaks.wire} cannot ask for the built-in tool {built_in[0]}")
    hosted = getattr(sdk_module(speaks), "HOSTED", {}).get(speaks.provider, {})
    for name in script.hosted:
        if name not in hosted:
            raise NotJudged(f"{speaks.wire} cannot ask for the server tool {name}")
    request = opening(script, speaks, stream=case.stream)
    choices = _choices(scenario, case)
    if choices > 1:
        if not facts(speaks.wire).several_choices:
            raise NotJudged(f"{speaks.wire} has no requests for several choices")
        request = replace(request, params={**request.params, "n": choices})
    return request


def _choices(scenario: Scenario, case: Case) -> int:
    return 1 + max((call.choice for call in _expected(scenario, case).calls), default=0)


def _expected(scenario: Scenario, case: Case) -> Expected:
    return scenario.expected(case.surface, 0, stream=case.stream)


def _script(scenario: Scenario, case: Case) -> Script:
    """Return a script that offers the tools of a scenario with handwritten bodies."""
    expected, upstream = _expected(scenario, case), SURFACES[case.surface]
    declared = {tool.name: tool for tool in scenario.file.tools}
    for call in expected.calls:
        kind = "custom" if call.kind == "custom" else "function"
        tool = OfferedTool(call.name, f"The tool {call.name}.", {} if kind == "custom" else _ANYTHING, kind)  # type: ignore[arg-type]
        declared.setdefault(call.name, tool)
    known = getattr(sdk_module(upstream), "HOSTED", {}).get(upstream.provider, {})
    hosted = [name for name in dict.fromkeys(expected.servers) if name in known]
    asks = [Round(ask=scenario.file.ask or _ASK)]
    return Script(scenario.id, scenario.file.title, asks, list(declared.values()), hosted)
