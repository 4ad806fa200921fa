"""Known-bad subjects with one mistake each that maintainers of SDKs, gateways and agents made: tables of one line each.

A mistake of a reader changes the response before it is read (`traffic`), or the canonical form after it. Each is also
run with the brief form: the prefix ``brief/`` marks it. Others change the request that the subject writes, or a
step of an agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from ...subjects import FollowUp, SubjectExchange
from ..mutate import CanonicalForm
from . import agents, clouds, google, older_wires, policies, requests, values
from .traffic import Edit, edited

_NONE = "a subject in the brief form may have None for a detail of the token counts"
_STOP = "the stop reason of the brief form shows the error"
#: Mistakes that docs/pages/subjects.md allows in the brief form, with the reason. If a law fails one, it is stale.
ALLOWED = {
    "brief/anthropic.messages/does-not-return-the-tokens-of-thinking": _NONE,
    "brief/cohere.chat/ignores-the-error-of-message-end": _STOP,
    "brief/ollama.chat/returns-0-for-a-prompt-count-that-the-server-left-out": "the brief form may have 0 for it",
    "brief/openai.chat/ignores-the-error-of-a-choice": _STOP,
    "brief/openai.responses/does-not-return-cached-tokens": _NONE,
    "brief/openai.responses/does-not-return-the-tokens-of-reasoning": _NONE,
    "brief/openai.responses/does-not-return-the-tokens-that-were-written-to-the-cache": _NONE,
}


class Mistake(NamedTuple):
    """``sentence``: what the subject does.

    ``group``: the wire of a reader, "any", "policies", "replay", "handoff" or "agents". ``edit`` changes the values of
    a response, ``answer(form, exchange)`` the canonical form, and ``request(body, follow_up)`` a request, in place.
    ``steps``: those of an agent. ``brief``: the subject returns the brief form.
    """

    group: str
    sentence: str
    edit: Edit | None = None
    answer: Callable[[CanonicalForm, SubjectExchange], None] | None = None
    request: Callable[[Any, FollowUp], None] | None = None
    steps: dict[str, Any] | None = None
    brief: bool = False

    @property
    def name(self) -> str:
        words = re.sub("[^a-z0-9_.]+", "-", self.sentence.lower()).strip("-")
        return f"{'brief/' if self.brief else ''}{self.group}/{words}"

    @property
    def field(self) -> str:
        """The part of the matrix in which it is counted."""
        return f"{'brief ' if self.brief else ''}mistakes:{self.group}"

    def exchange(self, exchange: SubjectExchange) -> SubjectExchange:
        """Return the response that the subject reads; the same object if the mistake does not change it."""
        return exchange if self.edit is None or exchange.wire != self.group else edited(exchange, self.edit)

    def writes(self, body: Any, follow_up: FollowUp) -> None:
        """Change a request."""
        own = follow_up.to == follow_up.exchange.wire
        if self.request is not None and self.group != ("handoff" if own else "replay"):
            self.request(body, follow_up)


@cache
def mistakes() -> dict[str, Mistake]:
    """Return all mistakes by name, those of readers in both forms."""
    found: dict[str, Mistake] = {}
    for mistake in _all():
        assert mistake.name not in found, mistake.name
        found[mistake.name] = mistake
    return found


def _all() -> Iterator[Mistake]:
    for wire, edits in (google.READERS | clouds.READERS | older_wires.READERS).items():
        for sentence, edit in edits.items():
            yield from _both_forms(Mistake(wire, sentence, edit=edit))
    for sentence, answer in values.ANSWERS.items():
        yield from _both_forms(Mistake("any", sentence, answer=answer))
    for sentence, answer in policies.ANSWERS.items():
        yield Mistake("policies", sentence, answer=answer)
    for sentence, request in policies.REQUESTS.items():
        yield Mistake("policies", sentence, request=request)
    for group, table in (("replay", requests.OWN), ("handoff", requests.FOREIGN)):
        for sentence, request in (requests.BOTH | table).items():
            yield Mistake(group, sentence, request=request)
    for sentence, steps in agents.AGENTS.items():
        yield Mistake("agents", sentence, steps=steps)


def _both_forms(mistake: Mistake) -> Iterator[Mistake]:
    yield mistake
    yield mistake._replace(brief=True)
