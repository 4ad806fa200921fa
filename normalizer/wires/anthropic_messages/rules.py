"""Request rules of the Messages API, as data.

Sources: the API's reference and guides ("documented"), its error messages ("refusal"), and the ids of failures.
Some older restrictions are not rules, because recorded requests show that the API accepts such input: a space as text,
an assistant message at the start, forced tools with adaptive thinking, consecutive messages of one role.
"""

from __future__ import annotations

from ..rule import Rule
from . import checks

#: Providers that serve Claude, as opposed to other providers of this wire.
_SERVED = frozenset(("anthropic", "bedrock", "vertex", "google", "azure"))
RULES: tuple[Rule, ...] = (
    Rule("messages", "A request contains at least one message.", "documented: messages", checks.messages),
    Rule(
        "role",
        "The role of a message is user, assistant or, on some models, system.",
        "documented: messages.role",
        checks.roles,
    ),
    Rule("max-tokens", "max_tokens is required.", "documented: max_tokens", checks.limit),
    Rule(
        "content",
        "Only a final assistant message may be empty.",
        "refusal: all messages must have non-empty content",
        checks.content,
    ),
    Rule(
        "empty-text",
        "A text block contains text.",
        "refusal: text content blocks must be non-empty; BED-02",
        checks.empty_text,
    ),
    Rule(
        "only-space",
        "A message contains more than white space.",
        "refusal: text content blocks must contain non-whitespace text",
        checks.only_space,
    ),
    Rule(
        "trailing-space",
        "A final assistant message does not end with white space.",
        "refusal: final assistant content cannot end with trailing whitespace",
        checks.trailing_space,
    ),
    Rule(
        "block-type",
        "Content is a list of blocks of known types.",
        "documented: messages.content",
        checks.block_types,
        _SERVED,
    ),
    Rule(
        "block-role",
        "Calls and thinking belong in assistant messages, tool results in user messages.",
        "refusal: `tool_use` blocks can only be in `assistant` messages",
        checks.whose_blocks,
    ),
    Rule(
        "image-source",
        "Images are sent as data, not as a URL.",
        "refusal: URL sources are not supported",
        checks.url_images,
        frozenset(("bedrock",)),
    ),
    Rule("answered", "Each tool_use has a tool_result in the next message.", "HIST-02", checks.answered),
    Rule(
        "results-first",
        "Tool results precede all other content of their message.",
        "ORD-02, HIST-05",
        checks.leading,
    ),
    Rule("result-asked-for", "A tool_result refers to a tool_use of the previous turn.", "HIST-07", checks.asked_for),
    Rule("answered-once", "A tool_use has one tool_result.", "ID-08", checks.once),
    Rule(
        "unique-ids",
        "Call ids are unique in the request.",
        "refusal: tool_use ids must be unique; ID-10, ID-12",
        checks.unique,
    ),
    Rule("id-format", "Ids consist of letters, digits, _ and -.", "ID-13, ID-19", checks.id_format),
    Rule(
        "server-id-format",
        "Server calls have ids that the provider issued.",
        "refusal: server_tool_use.id should match the pattern",
        checks.server_id_format,
    ),
    Rule("input-object", "The input of a call is an object.", "ARG-08, INV-02", checks.inputs),
    Rule(
        "name-format",
        "Names consist of 1 to 128 letters, digits, _ and -.",
        "refusal: tools.custom.name should match the pattern; NAME-04",
        checks.names,
    ),
    Rule(
        "unique-names",
        "Tool names are unique, including those of hosted tools.",
        "refusal: Tool names must be unique; NAME-07, NAME-08",
        checks.unique_names,
    ),
    Rule(
        "schema",
        "A tool's schema has type object and no union at its top level.",
        "documented: tools.input_schema; refusal: input_schema does not support oneOf, allOf, or anyOf at its top",
        checks.schemas,
    ),
    Rule(
        "signed",
        "Thinking includes its signature, and redacted thinking its data.",
        "THINK-02, THINK-03",
        checks.signed,
    ),
    Rule(
        "thinking-first",
        "With thinking enabled, a turn with tool calls begins with its thinking.",
        "THINK-01",
        checks.thinking_first,
    ),
    Rule(
        "thinking-budget",
        "thinking.budget_tokens is less than max_tokens.",
        "refusal: max_tokens must be greater than thinking.budget_tokens",
        checks.budget,
    ),
    Rule(
        "thinking-temperature",
        "With thinking enabled, temperature is 1.",
        "refusal: temperature may only be set to 1 when thinking is enabled",
        checks.cool,
    ),
    Rule(
        "thinking-last",
        "An assistant turn does not end with thinking.",
        "refusal: the final block in an assistant message cannot be thinking",
        checks.thinking_last,
    ),
    Rule("server-pair", "A server call and its result are in the same turn.", "SRV-01, ORD-03", checks.server_pairs),
    Rule("server-result", "The result of a server call follows its call.", "SRV-04", checks.server_results),
    Rule(
        "error-result",
        "An error result contains text that describes the error.",
        "refusal: content cannot be empty, and must be text, if is_error is true",
        checks.errors,
    ),
    Rule(
        "tool-choice",
        "The tool choice is a documented one and refers to a declared tool.",
        "documented: tool_choice; TC-01",
        checks.choice,
    ),
    Rule(
        "tool-choice-thinking",
        "Thinking and a forced tool choice cannot be combined.",
        "refusal: thinking may not be enabled when tool_choice forces tool use; TC-01",
        checks.forced,
    ),
    Rule(
        "cache-marks",
        "At most four blocks have a cache mark.",
        "refusal: a maximum of 4 blocks with cache_control may be provided",
        checks.cache_marks,
    ),
    Rule(
        "container",
        "Results for calls made by code name the container in which the code runs.",
        "refusal: container_id is required; PTC-01",
        checks.container,
    ),
)
