"""Rules about messages, their blocks, and the pairing of calls and results."""

from __future__ import annotations

import re
from typing import Any

from ...rule import Violations, rule
from ...traverse import items, member, objects, text
from .traverse import CALLS, THINKING, assistant_turns, blocks_of, id_of, repeated, turns_of

#: Providers that serve Claude, as opposed to other providers of this wire.
_CLAUDE = ("anthropic", "bedrock", "vertex", "google", "azure")
#: Models that do not continue a message of the assistant: version 4.6 and later ones of each family.
_WITHOUT_PREFILL = re.compile(r"claude-(opus|sonnet|haiku|fable|mythos)-(4-([6-9]|\d\d)(?!\d)|([5-9]|\d\d)(?!\d))")
#: Models that were recorded to accept a result with an id that no call has; later models refuse it.
_UNPAIRED = frozenset(("claude-3-opus-20240229",))
#: Members of a message (`anthropic.types.beta.BetaMessageParam`); `output_config` is one of the role system.
_MEMBERS = frozenset(("role", "content", "output_config"))
_ROLES = ("user", "assistant", "system")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
#: Known block types (`anthropic.types.beta.BetaContentBlockParam`), except results of server tools.
_BLOCKS = frozenset(
    """
    text image document search_result thinking redacted_thinking tool_use tool_result server_tool_use mcp_tool_use
    container_upload compaction fallback mcp_tool_listing tool_addition tool_removal
    """.split()  # noqa: SIM905 - a list of words reads better so
)


@rule("messages", "documented: messages")
def messages(body: Any) -> Violations:
    """A request contains at least one message."""
    value = member(body, "messages")
    if not isinstance(value, list):
        yield "messages", "must be a list"
    elif not value:
        yield "messages", "at least one message is required"


@rule("role", "documented: messages.role")
def role(body: Any) -> Violations:
    """The role of a message is user, assistant or, on some models, system."""
    for number, message in enumerate(items(body, "messages")):
        if not isinstance(message, dict):
            yield f"messages[{number}]", "must be an object"
        elif message.get("role") not in _ROLES:
            yield f"messages[{number}].role", f"must be one of {', '.join(_ROLES)}, got {message.get('role')!r}"


@rule("message-members", "refusal: messages.0.name: Extra inputs are not permitted", _CLAUDE)
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


@rule("content", "refusal: all messages must have non-empty content")
def content(body: Any) -> Violations:
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


@rule(
    "prefill",
    "refusal: This model does not support assistant message prefill; documented: new in Claude 4.6",
    _CLAUDE,
)
def prefill(body: Any) -> Violations:
    """From Claude 4.6 on, the last message is not a text of the assistant."""
    turn = next(reversed(turns_of(body)), None)
    if turn is None or turn.role != "assistant" or not _WITHOUT_PREFILL.search(text(member(body, "model"))):
        return
    # A turn that the provider paused ends with other blocks, and is continued.
    if turn.blocks and all(block.get("type") == "text" for _, block in turn.blocks):
        yield turn.blocks[-1][0], f"{body['model']} does not continue a message of the assistant"


@rule("block-type", "documented: messages.content", _CLAUDE)
def block_type(body: Any) -> Violations:
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


@rule("answered", "HIST-02")
def answered(body: Any) -> Violations:
    """Each tool_use has a tool_result in the next message."""
    if text(member(body, "model")) in _UNPAIRED:
        return
    for turn, following in assistant_turns(body):
        if following is None:
            continue
        results = following.of("tool_result") if following.role == "user" else []
        ids = {id_of(block, "tool_use_id") for _, block in results}
        for path, block in turn.of("tool_use"):
            if id_of(block, "id") not in ids:
                yield path, f"{block.get('id')} has no tool_result directly after it"


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


@rule("result-asked-for", "HIST-07")
def result_asked_for(body: Any) -> Violations:
    """A tool_result refers to a tool_use of the previous turn."""
    if text(member(body, "model")) in _UNPAIRED:
        return
    calls: set[str | None] = set()
    for turn in turns_of(body):
        for path, block in turn.of("tool_result"):
            if id_of(block, "tool_use_id") not in calls:
                yield path, f"the previous turn has no tool_use {block.get('tool_use_id')}"
        calls = {id_of(block, "id") for _, block in turn.of("tool_use")}


@rule("answered-once", "ID-08")
def answered_once(body: Any) -> Violations:
    """A tool_use has one tool_result."""
    for turn in turns_of(body):
        yield from repeated(turn.of("tool_result"), "tool_use_id", "has two results")


@rule("unique-ids", "refusal: tool_use ids must be unique; ID-10, ID-12")
def unique_ids(body: Any) -> Violations:
    """Call ids are unique in the request."""
    return repeated([(p, block) for p, block in blocks_of(body) if block.get("type") in CALLS], "id", "is used twice")


@rule("id-format", "ID-13, ID-19")
def id_format(body: Any) -> Violations:
    """Ids consist of letters, digits, _ and -."""
    for path, block in blocks_of(body):
        name = {"tool_use": "id", "mcp_tool_use": "id", "tool_result": "tool_use_id"}.get(text(block.get("type")))
        if name is not None and not _ID.fullmatch(text(block.get(name))):
            yield f"{path}.{name}", f"{block.get(name)!r} does not match ^{_ID.pattern}$"


@rule("server-id-format", "refusal: server_tool_use.id should match the pattern")
def server_id_format(body: Any) -> Violations:
    """Server calls have ids that the provider issued."""
    for path, block in blocks_of(body):
        if block.get("type") == "server_tool_use" and not _SERVER_ID.fullmatch(text(block.get("id"))):
            yield f"{path}.id", f"{block.get('id')!r} does not match ^{_SERVER_ID.pattern}$"


@rule("input-object", "ARG-08, INV-02")
def input_object(body: Any) -> Violations:
    """The input of a call is an object."""
    for path, block in blocks_of(body):
        if block.get("type") in CALLS and not isinstance(block.get("input"), dict):
            yield f"{path}.input", "must be an object"
