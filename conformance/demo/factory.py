"""Makes the agents of the demo: the first requests, providers and tools of its turns.

A turn of the chat goes through an official SDK to an emulated provider. A turn of an act has its model in this process.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from toolparity.cassettes.recorder.script_driver import opening as scripted
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import Surface, surface, surface_of
from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.errors import MissingExtra
from toolparity.normalizer.model import Policy
from toolparity.normalizer.textmode import TextMode
from toolparity.turns.agent import Agent
from toolparity.turns.clients import SdkClient
from toolparity.turns.errors import TurnMisused
from toolparity.turns.model_call import Prepare, WrapDecoder
from toolparity.turns.narration.acknowledge import acknowledge
from toolparity.turns.narration.narrating_provider import NarratingProvider
from toolparity.turns.narration.narrator import Narrator
from toolparity.turns.options import AgentOptions
from toolparity.turns.provider import Provider
from toolparity.turns.request import opening

from .acts import Act, acts
from .emulated_model import EmulatedModel
from .narrator import NarratorScriptProvider, ScriptLibrary, last_words
from .tools import ScriptedTools, Throttle
from .trace import Trace, TracingDecoder, TracingObserver, TracingProvider

_NO_SCRIPT = Script("none", "What no script knows", [])


class TurnRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The request of the page to start a turn.

    ``message``: what the user says; an act has its message. ``act``: the id of the act that the turn belongs to, "" for
    the chat. ``stream``: whether the answers of an act are streamed. ``after``: the turn whose conversation continues.
    ``approval``: require approval of every call.
    """

    message: str = ""
    act: str = ""
    surface: str = "openai.chat"
    policy: Policy = "all"
    limit: int | None = None
    stream: bool = True
    approval: bool = False
    narrator: bool = False
    after: str | None = None


class TurnFactory:
    """Makes agents. ``clients``: by the name of their surface. ``library``: the scripts that they reach."""

    def __init__(self, clients: Mapping[str, SdkClient], library: ScriptLibrary, throttle: Throttle) -> None:
        self.acts = acts()
        self.clients = clients
        self._library = library
        self._throttle = throttle

    def request(self, turn_request: TurnRequest) -> Request:
        """Return the first request of a turn. Raises TurnMisused, UnknownSurface and MissingExtra."""
        at = surface(turn_request.surface)
        if turn_request.act:
            return scripted(self._act(turn_request, at).script, at, stream=turn_request.stream)
        script = self._script(turn_request.message)
        if script is not None and at.plays(script):
            return scripted(script, at, stream=True)
        return opening(turn_request.message, self._client(at))

    def agent(self, turn_request: TurnRequest, opening: str, trace: Trace) -> Agent:
        """Return the agent of a turn. ``opening``: the first message of its conversation."""
        at = surface(turn_request.surface)
        options: AgentOptions = {
            "policy": turn_request.policy,
            "limit": turn_request.limit,
            "acknowledge": acknowledge,
            "observers": [TracingObserver(trace)],
        }
        reader: WrapDecoder | None = None
        if turn_request.act:
            act = self._act(turn_request, at)
            model = EmulatedModel(act.script, at, stream=turn_request.stream, closing=act.closing)
            provider: Provider = TracingProvider(model, trace, self._throttle)
            tools = ScriptedTools(act.tool_script, self._throttle, approval=act.approval, slower=act.slower).tools
            prepare, reader = _text_mode(act) if act.dialect is not None else (_without_switch, None)
            options["prepare"] = prepare
        else:
            script = self._script(opening) or _NO_SCRIPT
            tools = ScriptedTools(script, self._throttle, approval=turn_request.approval).tools
            reached = self._client(at)
            provider = TracingProvider(reached, trace, self._throttle)
            if turn_request.narrator:
                text = last_words(script) or "That is all."
                narrator = NarratorScriptProvider(reached, self._library, text)
                tracing_narrator = Narrator(TracingProvider(narrator, trace, self._throttle))
                provider = NarratingProvider(provider, tracing_narrator, tools)
                options["on_all_failed"] = "answer"  # the narrator reports the failure, too
        options["reader"] = _traced(trace, reader)
        return Agent(provider, tools, **options)

    def _act(self, turn_request: TurnRequest, at: Surface) -> Act:
        act = self.acts.get(turn_request.act)
        if act is None or at not in act.surfaces:
            raise TurnMisused(f"{at.name} does not play this act", where=turn_request.act)
        return act

    def _client(self, at: Surface) -> SdkClient:
        found = self.clients.get(at.name)
        if found is None:
            raise MissingExtra(f"{at.name} needs the SDK {at.sdk}", hint=f"pip install {at.sdk}")
        return found

    def _script(self, text: str) -> Script | None:
        """Return the script that begins with this user message."""
        return next((script for script in self._library.values() if script.ask == text), None)


def new_id(turn_request: TurnRequest) -> str:
    """Return a new id for a turn. It contains the act, so that another process can resume the turn."""
    return f"{turn_request.act or 'chat'}.{uuid.uuid4().hex}"


def request_of_logged_turn(id: str, request: Request) -> TurnRequest:
    """Return the settings of a turn that another process started. ``request``: its first request."""
    at = surface_of(request.provider, request.wire)
    act = id.rpartition(".")[0].removeprefix("chat")
    stream = request.params.get("stream", True) is not False
    return TurnRequest(first_user_text(request), act, at.name if at is not None else request.wire, stream=stream)


def _without_switch(request: Request) -> Request:
    """Return the request without the switch against parallel calls.

    Some servers ignore the switch, and some wires lack it: then the policy alone has to select.
    """
    return replace(request, parallel=None)


def _text_mode(act: Act) -> tuple[Prepare, WrapDecoder]:
    assert act.dialect is not None
    mode = TextMode(act.dialect)
    return mode.prepare, mode.reader


def _traced(trace: Trace, reader: WrapDecoder | None) -> WrapDecoder:
    def wrap(decoder: StreamDecoder, request: Request) -> TracingDecoder:
        return TracingDecoder(reader(decoder, request) if reader is not None else decoder, trace)

    return wrap


def first_user_text(request: Request) -> str:
    """Return the text of the first user message, "" if there is none."""
    user = next((turn for turn in request.messages if isinstance(turn, User)), None)
    return "".join(part.text for part in user.parts if isinstance(part, TextPart)) if user is not None else ""
