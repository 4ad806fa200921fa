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
    Rule("messages", "A request holds at least one message.", "documented: messages", checks.messages),
    Rule(
        "role",
        "A message is of the user, the assistant or, on some models, the system.",
        "documented: messages.role",
        checks.roles,
    ),
    Rule("max-tokens", "The limit of the answer has to be told.", "documented: max_tokens", checks.limit),
    Rule(
        "content",
        "Only the last message, if it is the assistant's, may be empty.",
        "refusal: all messages must have non-empty content",
        checks.content,
    ),
    Rule(
        "empty-text",
        "A text block holds text.",
        "refusal: text content blocks must be non-empty; BED-02",
        checks.empty_text,
    ),
    Rule(
        "only-space",
        "A message holds more than white space.",
        "refusal: text content blocks must contain non-whitespace text",
        checks.only_space,
    ),
    Rule(
        "trailing-space",
        "An answer that is to be continued does not end with white space.",
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
        "Calls and thinking are the assistant's, results of tools the user's.",
        "refusal: `tool_use` blocks can only be in `assistant` messages",
        checks.whose_blocks,
    ),
    Rule(
        "image-source",
        "Images come as their data, not by an address.",
        "refusal: URL sources are not supported",
        checks.url_images,
        frozenset(("bedrock",)),
    ),
    Rule("answered", "Each tool_use is answered in the very next message.", "HIST-02", checks.answered),
    Rule(
        "results-first",
        "The results stand before all other content of their message.",
        "ORD-02, HIST-05",
        checks.leading,
    ),
    Rule("result-asked-for", "A result answers a tool_use of the turn before.", "HIST-07", checks.asked_for),
    Rule("answered-once", "A tool_use is answered once.", "ID-08", checks.once),
    Rule(
        "unique-ids",
        "The ids of calls are unique in the whole request.",
        "refusal: tool_use ids must be unique; ID-10, ID-12",
        checks.unique,
    ),
    Rule("id-format", "Ids are made of letters, figures, _ and -.", "ID-13, ID-19", checks.id_format),
    Rule(
        "server-id-format",
        "Ids of server calls are those that the service gave.",
        "refusal: server_tool_use.id should match the pattern",
        checks.server_id_format,
    ),
    Rule("input-object", "The input of a call is an object.", "ARG-08, INV-02", checks.inputs),
    Rule(
        "name-format",
        "Names are made of 1 to 128 letters, figures, _ and -.",
        "refusal: tools.custom.name should match the pattern; NAME-04",
        checks.names,
    ),
    Rule(
        "unique-names",
        "Tool names are unique, those of hosted tools among them.",
        "refusal: Tool names must be unique; NAME-07, NAME-08",
        checks.unique_names,
    ),
    Rule(
        "schema",
        "The schema of a tool is one of type object, without a union at its top.",
        "documented: tools.input_schema; refusal: input_schema does not support oneOf, allOf, or anyOf at its top",
        checks.schemas,
    ),
    Rule(
        "signed",
        "Thinking goes back with its signature, redacted thinking with its data.",
        "THINK-02, THINK-03",
        checks.signed,
    ),
    Rule(
        "thinking-first",
        "With thinking enabled, the turn that called the tools begins with its thinking.",
        "THINK-01",
        checks.thinking_first,
    ),
    Rule(
        "thinking-budget",
        "Thinking gets fewer tokens than the whole answer.",
        "refusal: max_tokens must be greater than thinking.budget_tokens",
        checks.budget,
    ),
    Rule(
        "thinking-temperature",
        "Thinking goes with no temperature but 1.",
        "refusal: temperature may only be set to 1 when thinking is enabled",
        checks.cool,
    ),
    Rule(
        "thinking-last",
        "A turn of the assistant does not end with thinking.",
        "refusal: the final block in an assistant message cannot be thinking",
        checks.thinking_last,
    ),
    Rule("server-pair", "A server's call and its result stand in one turn.", "SRV-01, ORD-03", checks.server_pairs),
    Rule("server-result", "A server's result stands behind its call.", "SRV-04", checks.server_results),
    Rule(
        "error-result",
        "An error result says what went wrong, in text.",
        "refusal: content cannot be empty, and must be text, if is_error is true",
        checks.errors,
    ),
    Rule(
        "tool-choice",
        "The choice is a known one, among tools that are there.",
        "documented: tool_choice; TC-01",
        checks.choice,
    ),
    Rule(
        "tool-choice-thinking",
        "Thinking and a forced choice exclude each other.",
        "refusal: thinking may not be enabled when tool_choice forces tool use; TC-01",
        checks.forced,
    ),
    Rule(
        "cache-marks",
        "At most four places are marked for the cache.",
        "refusal: a maximum of 4 blocks with cache_control may be provided",
        checks.cache_marks,
    ),
    Rule(
        "container",
        "Calls that code made are answered in the container where it waits.",
        "refusal: container_id is required; PTC-01",
        checks.container,
    ),
)
