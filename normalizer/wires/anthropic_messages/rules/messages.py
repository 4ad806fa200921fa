"""Rules about messages, their blocks, and the pairing of calls and results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ... import common_rules
from ...common_rules import Places, Round, Step, message_list, messages_of, roles_of
from ...rule import Violations, rule
from ...traverse import items, member, objects, text
from .traverse import CALLS, CLAUDE, THINKING, blocks_of, id_of, turns_of

#: Models that do not continue a message of the assistant: version 4.6 and later ones of each family.
#: Models that were recorded to accept a result with an id that no call has; later models refuse it.
_UNPAIRED = frozenset(("claude-3-opus-20240229",))
#: Members of a message (`anthropic.types.beta.BetaMessageParam`); `output_config` is one of the role system.
_MEMBERS = frozenset(("role", "content", "output_config"))
_ROLES = ("user", "assistant", "system")
_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
#: Known block types (`anthropic.types.beta.BetaContentBlockParam`), except results of server tools.
_BLOCKS = frozenset(
    """
    text image document search_result thinking redacted_thinking tool_use tool_result server_tool_use mcp_tool_use
    container_upload compaction fallback mcp_tool_listing tool_addition tool_removal
    """.split()  # noqa: SIM905 - a list of words reads better so
)


def _rounds(body: Any) -> Iterator[Round]:
    """Yield the calls of each assistant turn with the results of the next turn."""
    if text(member(body, "model")) in _UNPAIRED:
        return
    calls: list[Step] = []
    for turn in turns_of(body):
        results = [Step("result", path, id_of(block, "tool_use_id")) for path, block in turn.of("tool_result")]
        yield Round([*calls, *results])
        uses = turn.of("tool_use") if turn.role == "assistant" else []
        calls = [Step("call", path, id_of(block, "id")) for path, block in uses]


def _ids_of_turns(body: Any) -> Iterator[Places]:
    for turn in turns_of(body):
        yield [(f"{path}.id", id_of(block, "id")) for path, block in turn.of(*CALLS)]


def _ids(body: Any) -> Places:
    for path, block in blocks_of(body):
        name = {"tool_use": "id", "mcp_tool_use": "id", "tool_result": "tool_use_id"}.get(text(block.get("type")))
        if name is not None:
            yield f"{path}.{name}", block.get(name)


messages_present = common_rules.messages_present(message_list, "documented: messages")
message_object = common_rules.message_object(messages_of, "documented: messages")
role_known = common_rules.role_known(roles_of, "documented: messages.role", known=_ROLES)


@rule("message-members", "refusal: messages.0.name: Extra inputs are not permitted", CLAUDE)
def message_members(body: Any) -> Violations:
    """A message has only the members that the reference lists, so no `name` as in Chat Completions."""
    for path, message in objects(body, "messages"):
        for name in sorted(message.keys() - _MEMBERS):
            yield f"{path}.{name}", "is not a member of a message"


@rule("max-tokens", "documented: max_tokens")
def max_tokens(body: Any) -> Violations:
    """max_tokens is required."""
    limit = member(body, "max_tokens")
    if type(limit) is not int or limit < 1:
        yield "max_tokens", "must be a positive integer"


@rule("content-present", "refusal: all messages must have non-empty content")
def content_present(body: Any) -> Violations:
    """Only a final assistant message may be empty."""
    last = f"messages[{len(items(body, 'messages')) - 1}]"
    for path, message in objects(body, "messages"):
        prefill = path == last and message.get("role") == "assistant"
        configures = message.get("role") == "system" and message.get("output_config")
        if not (message.get("content") or prefill or configures):
            yield f"{path}.content", "must not be empty"


@rule("empty-text", "refusal: text content blocks must be non-empty; BED-02")
def empty_text(body: Any) -> Violations:
    """A text block contains text."""
    for path, block in blocks_of(body, system=True, nested=True):
        if block.get("type") == "text" and not text(block.get("text")):
            yield f"{path}.text", "must not be empty"


@rule("only-space", "refusal: text content blocks must contain non-whitespace text")
def only_space(body: Any) -> Violations:
    """A message contains more than white space."""
    for path, message in objects(body, "messages"):
        blocks = [block for _, block in objects(message, "content")]
        texts = [text(block.get("text")) for block in blocks]
        if isinstance(message.get("content"), str):
            texts = [message["content"]]
        only_texts = all(block.get("type") == "text" for block in blocks)
        if only_texts and any(texts) and not "".join(texts).strip():
            yield f"{path}.content", "contains only white space"


@rule("trailing-space", "refusal: final assistant content cannot end with trailing whitespace")
def trailing_space(body: Any) -> Violations:
    """A final assistant message does not end with white space."""
    last = next(reversed(items(body, "messages")), None)
    content = member(last, "content")
    if isinstance(content, list):
        content = member(content[-1], "text") if content and member(content[-1], "type") == "text" else None
    if member(last, "role") == "assistant" and isinstance(content, str) and content != content.rstrip():
        yield f"messages[{len(body['messages']) - 1}].content", "ends with white space"


@rule("part-type", "documented: messages.content", CLAUDE)
def part_type(body: Any) -> Violations:
    """Content is a list of blocks of known types."""
    for path, message in objects(body, "messages"):
        for number, block in enumerate(items(message, "content")):
            kind = member(block, "type")
            known = isinstance(kind, str) and (kind in _BLOCKS or kind.endswith("_tool_result"))
            # an unknown block of the assistant came from the provider
            if not known and not (isinstance(kind, str) and message.get("role") == "assistant"):
                yield f"{path}.content[{number}]", f"unknown block type: {kind!r}"


@rule("block-role", "refusal: `tool_use` blocks can only be in `assistant` messages")
def block_role(body: Any) -> Violations:
    """Calls and thinking belong in assistant messages, tool results in user messages."""
    misplaced = {"user": (*CALLS, *THINKING), "assistant": ("tool_result",)}
    for turn in turns_of(body):
        for path, block in turn.of(*misplaced.get(turn.role, ())):
            yield path, f"a {block['type']} block in a message of role {turn.role}"


@rule("image-source", "refusal: URL sources are not supported", ["bedrock"])
def image_source(body: Any) -> Violations:
    """Images are sent as data, not as a URL."""
    for path, block in blocks_of(body, nested=True):
        if block.get("type") == "image" and member(block.get("source"), "type") == "url":
            yield f"{path}.source", "an image given as a URL"


call_answered = common_rules.call_answered(_rounds, "HIST-02")
result_asked_for = common_rules.result_asked_for(_rounds, "HIST-07")
answered_once = common_rules.answered_once(_rounds, "ID-08")
#: An id may come again in another turn (a recorded request with status 200).
id_unique = common_rules.id_unique(_ids_of_turns, "refusal: tool_use ids must be unique; ID-10, ID-12")
id_format = common_rules.id_format(_ids, "ID-13, ID-19", pattern="[a-zA-Z0-9_-]+")
arguments_object = common_rules.arguments_object(
    lambda body: (
        (f"{path}.input", block.get("input")) for path, block in blocks_of(body) if block.get("type") in CALLS
    ),
    "ARG-08, INV-02",
)


@rule("results-first", "ORD-02, HIST-05")
def results_first(body: Any) -> Violations:
    """Tool results precede all other content of their message."""
    for turn in turns_of(body):
        other = False
        for path, block in turn.blocks:
            result = block.get("type") == "tool_result"
            if result and other:
                yield path, "a tool_result follows other content"
            other = other or not result


@rule("server-id-format", "refusal: server_tool_use.id should match the pattern")
def server_id_format(body: Any) -> Violations:
    """Server calls have ids that the provider issued."""
    for path, block in blocks_of(body):
        if block.get("type") == "server_tool_use" and not _SERVER_ID.fullmatch(text(block.get("id"))):
            yield f"{path}.id", f"{block.get('id')!r} does not match ^{_SERVER_ID.pattern}$"
