"""Request rules of the Responses endpoints, as data.

Sources are the API references and error messages of OpenAI and xAI, and failures reported from the field by id. A rule
without ``providers`` applies to every provider of the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..rule import Rule
from . import checks
from .checks import Broken

_OPENAI = frozenset(("openai", "azure"))
_XAI = frozenset(("xai",))


def _rule(
    id: str, check: Callable[[Any], Broken], reason: str, source: str, providers: Any = None, status: int = 400
) -> Rule:
    return Rule(id, reason, source, check, providers, status)


def _unless_xai_made_it(id: str, check: Callable[[Any], Broken], reason: str, source: str) -> tuple[Rule, Rule]:
    """Return a rule on calls for all providers, with a variant for xAI that ignores xAI's own calls."""
    return (
        Rule(id, reason, source, check, unless=_XAI),
        Rule(id, reason, source, checks.of_xai(check), _XAI),
    )


_API = "the API's reference: create a response"
RULES: tuple[Rule, ...] = (
    _rule(
        "input-present",
        checks.nothing,
        "One of input, previous_response_id, prompt or conversation is required.",
        _API,
    ),
    _rule("one-anchor", checks.two_anchors, "previous_response_id cannot be used together with conversation.", _API),
    _rule("role", checks.roles, "The role of a message is user, assistant, system or developer, not tool.", _API),
    _rule("item-type", checks.items, "The input is a list of items of documented types.", _API, _OPENAI),
    _rule(
        "part-type",
        checks.part_types,
        "Assistant messages have output_text and refusal parts, other messages input_… parts.",
        _API,
        _OPENAI,
    ),
    *_unless_xai_made_it(
        "call-id", checks.call_ids, "A call and its output have a call_id of 1 to 64 characters.", "failure ID-13"
    ),
    _rule(
        "item-id",
        checks.item_ids,
        "An item's id is issued by the provider and has the prefix of its type.",
        "failure ID-18",
        _OPENAI,
    ),
    _rule(
        "item-once",
        checks.repeated_items,
        "Item ids are unique in the input.",
        _API,
        _OPENAI,
    ),
    _rule("call-text", checks.call_texts, "The arguments of a call are a string, not an object.", _API),
    _rule("output-present", checks.outputs, "Every output item has an output, even if it is empty.", "failure RES-05"),
    _rule("output-parts", checks.output_parts, "Outputs consist of text, images and files.", _API, _OPENAI),
    *_unless_xai_made_it(
        "call-answered", checks.unanswered, "No tool output was found for a function call.", "failure HIST-06"
    ),
    _rule("output-asked-for", checks.orphans, "No tool call was found for a function call output.", "failure HIST-07"),
    _rule("answered-once", checks.answered_twice, "A call has one output.", "failure HIST-04"),
    _rule("approval-asked-for", checks.approvals, "An approval names the request that it answers.", "failure RSP-06"),
    _rule(
        "reasoning-summary",
        checks.summaries,
        "A reasoning item has a summary, even if it is empty.",
        "failure THINK-07",
    ),
    _rule(
        "reasoning-stored",
        checks.lost_reasoning,
        "With store=false no item is stored, so a reasoning item needs its encrypted_content.",
        "failure THINK-08",
        _OPENAI,
        404,
    ),
    _rule(
        "reasoning-followed",
        checks.alone,
        "A reasoning item precedes its message or call.",
        "failure THINK-07",
        _OPENAI,
    ),
    _rule(
        "media-source", checks.media, "An image or file has exactly one source, and file data has a file name.", _API
    ),
    _rule(
        "tool-name", checks.names, "Names of tools and calls consist of letters, digits, _ and -.", "failure NAME-04"
    ),
    _rule("tool-name-free", checks.reserved, "The names of hosted tools are reserved.", "failure XAI-08", _XAI),
    _rule("tool-name-once", checks.same_names, "Tool names are unique.", "failure NAME-07"),
    _rule("tool-schema", checks.schemas, "The parameters of a function are an object.", _API),
    _rule(
        "tool-strict",
        checks.strict_schemas,
        "A strict schema requires every property and allows no additional ones.",
        _API,
        _OPENAI,
    ),
    _rule("tool-choice", checks.choice, "A forced tool is declared.", _API),
    _rule("tool-choice-form", checks.choices, "tool_choice is none, auto, required, or an object with a type.", _API),
    _rule("output-limit", checks.limits, "The minimum of max_output_tokens is 16.", _API, _OPENAI),
)
