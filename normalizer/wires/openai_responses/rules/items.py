"""Rules for the items of the input: messages, calls, outputs and reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ... import common_rules
from ...common_rules import Round, Step
from ...rule import Rule, Violations, rule
from ...traverse import items, member, objects, text
from ..results import OUTPUTS
from ..write_assistant import LONGEST_ID, PREFIXES

_OPENAI = ("openai", "azure")
_XAI = frozenset(("xai",))
_API = "the API's reference: create a response"
_ROLES = ("user", "assistant", "system", "developer")
#: Call that the client may have to answer -> type of its output.
_CALLS = {output.removesuffix("_output"): output for output in OUTPUTS if output != "tool_search_output"}
_CALLS["tool_search_call"] = "tool_search_output"
#: Items that only the client writes. They cannot be the item that has to follow reasoning.
_BY_CLIENT = frozenset((*OUTPUTS, "mcp_approval_response", "additional_tools", "item_reference"))
#: Types of items (`openai.types.responses.ResponseInputItemParam`), except for calls, which end with `_call`.
_ITEMS = _BY_CLIENT | {
    *("message", "reasoning", "compaction", "compaction_trigger", "configuration_update", "program", "program_output"),
    *("mcp_list_tools", "mcp_approval_request", "additional_tools", "multi_agent_call_output"),
}
#: Outputs that may be a list of parts.
_OF_PARTS = ("function_call_output", "custom_tool_call_output")


def typed_items(body: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield path, item and type of every item that is an object."""
    for path, item in objects(body, "input"):
        yield path, item, text(item.get("type", "message"))


def _is_client_call(item: dict[str, Any], kind: str) -> bool:
    if kind == "tool_search_call":
        return item.get("execution") == "client"
    return kind in _CALLS and member(item.get("environment"), "type") in (None, "local")


def _call_id(item: dict[str, Any]) -> str | None:
    id = item.get("call_id")
    id = item.get("id") if id is None and item.get("type") == "local_shell_call_output" else id
    return id if isinstance(id, str) else None


def _is_chained(body: Any) -> bool:
    """Whether the provider stores items that this body does not contain."""
    stored = any(member(body, name) is not None for name in ("previous_response_id", "conversation", "prompt"))
    return stored or any(kind == "item_reference" for _, _, kind in typed_items(body))


def _rounds(body: Any) -> Iterator[Round]:
    """Yield the input as one round. With a stored history, outputs may refer to calls that it does not contain."""
    steps: list[Step] = []
    known: set[str] = set()
    chained = _is_chained(body)
    for path, item, kind in typed_items(body):
        id = _call_id(item)
        if id is None:
            continue
        if kind not in OUTPUTS:
            known.add(id)
            steps.append(Step("call" if _is_client_call(item, kind) else "served", path, id))
        elif id in known or not (chained or (kind == "tool_search_output" and item.get("execution") != "client")):
            steps.append(Step("result", path, id))
    yield Round(steps, shared=False)


def _without_calls_of_xai(general: Rule) -> Rule:
    """Return the variant of a rule for xAI. It ignores xAI's calls: custom calls of undeclared tools (SRV-09)."""

    def check(body: Any) -> Violations:
        declared = [tool.get("name") for _, tool in objects(body, "tools") if tool.get("type") == "custom"]

        def is_of_xai(item: Any) -> bool:
            name = member(item, "name")
            return member(item, "type") == "custom_tool_call" and isinstance(name, str) and name not in declared

        if not any(map(is_of_xai, items(body, "input"))):
            return general.check(body)
        return general.check({**body, "input": [{} if is_of_xai(item) else item for item in body["input"]]})

    return replace(general, check=check, providers=_XAI, unless=frozenset())


@rule("input-present", _API)
def input_present(body: Any) -> Violations:
    """One of input, previous_response_id, prompt or conversation is required."""
    if member(body, "input") in (None, [], "") and not _is_chained(body):
        yield "input", "neither an input nor a stored history"


@rule("one-anchor", _API)
def one_anchor(body: Any) -> Violations:
    """previous_response_id cannot be used together with conversation."""
    if member(body, "previous_response_id") and member(body, "conversation"):
        yield "conversation", "cannot be combined with previous_response_id"


role_known = common_rules.role_known(
    lambda body: ((path, item.get("role")) for path, item, kind in typed_items(body) if kind == "message"),
    _API,
    known=_ROLES,
)


@rule("item-type", _API, _OPENAI)
def item_type(body: Any) -> Violations:
    """The input is a list of items of documented types."""
    for number, item in enumerate(items(body, "input")):
        kind = item.get("type", "message") if isinstance(item, dict) else None
        known = isinstance(kind, str) and (kind in _ITEMS or kind.endswith("_call"))
        # An unknown item with an id is the provider's, of a type newer than this table, and goes back (law `unknown`).
        if not known and not (isinstance(kind, str) and isinstance(item.get("id"), str)):
            yield f"input[{number}]", f"unknown item type: {kind!r}"
        elif kind == "message" and not isinstance(item.get("content"), (str, list)):
            yield f"input[{number}].content", "must be a string or a list of parts"


@rule("part-type", _API, _OPENAI)
def part_type(body: Any) -> Violations:
    """Assistant messages have output_text and refusal parts, other messages input_… parts."""
    for path, item, kind in typed_items(body):
        for number, part in enumerate(items(item, "content") if kind == "message" else ()):
            type = text(member(part, "type"))
            by_model = item.get("role") == "assistant"
            if not (type in ("output_text", "refusal") if by_model else type.startswith("input_")):
                role = item.get("role")
                yield f"{path}.content[{number}]", f"a part of type {member(part, 'type')!r} in a message of {role!r}"


@rule("call-id", "failure ID-13", unless=_XAI)
def call_id(body: Any) -> Violations:
    """A call and its output have a call_id of 1 to 64 characters."""
    for path, item, kind in typed_items(body):
        if _is_client_call(item, kind) or (kind in OUTPUTS and kind != "tool_search_output"):
            id = _call_id(item)
            if not id:
                yield f"{path}.call_id", "missing"
            elif len(id) > LONGEST_ID:
                yield f"{path}.call_id", f"{len(id)} characters, at most {LONGEST_ID} are allowed"


call_id_on_xai = _without_calls_of_xai(call_id)


@rule("item-id", "failure ID-18", _OPENAI)
def item_id(body: Any) -> Violations:
    """An item's id is issued by the provider and has the prefix of its type."""
    for path, item, kind in typed_items(body):
        id, prefix = item.get("id"), PREFIXES.get(kind)
        if isinstance(id, str) and prefix and item.get("role") in (None, "assistant") and not id.startswith(prefix):
            yield f"{path}.id", f"{id!r} does not begin with {prefix!r}"


@rule("item-once", _API, _OPENAI, whole=True)
def item_once(body: Any) -> Violations:
    """Item ids are unique in the input."""
    seen: set[str] = set()
    for path, item, kind in typed_items(body):
        id = item.get("id")
        if isinstance(id, str) and kind != "local_shell_call_output":
            if id in seen:
                yield f"{path}.id", f"{id!r} occurs twice"
            seen.add(id)


@rule("arguments-text", _API)
def arguments_text(body: Any) -> Violations:
    """The arguments of a call are a string, not an object."""
    for path, item, kind in typed_items(body):
        name = {"function_call": "arguments", "custom_tool_call": "input"}.get(kind)
        if name and not isinstance(item.get(name), str):
            yield f"{path}.{name}", "must be a string"


@rule("output-present", "failure RES-05")
def output_present(body: Any) -> Violations:
    """Every output item has an output, even if it is empty."""
    for path, item, kind in typed_items(body):
        if kind not in OUTPUTS or kind in ("apply_patch_call_output", "tool_search_output"):
            continue
        output = item.get("output")
        if output is None:
            yield f"{path}.output", "missing"
        elif kind in _OF_PARTS and not isinstance(output, (str, list)):
            yield f"{path}.output", "must be a string or a list of parts"
        elif kind == "computer_call_output" and not isinstance(output, dict):
            yield f"{path}.output", "must be a screenshot"


@rule("output-parts", _API, _OPENAI)
def output_parts(body: Any) -> Violations:
    """Outputs consist of text, images and files."""
    for path, item, kind in typed_items(body):
        for number, part in enumerate(items(item, "output") if kind in _OF_PARTS else ()):
            if member(part, "type") not in ("input_text", "input_image", "input_file"):
                yield f"{path}.output[{number}]", f"a part of type {member(part, 'type')!r} in an output"


call_answered = common_rules.call_answered(_rounds, "failure HIST-06", unless=_XAI, whole=True)
call_answered_on_xai = _without_calls_of_xai(call_answered)
result_asked_for = common_rules.result_asked_for(_rounds, "failure HIST-07", whole=True)
answered_once = common_rules.answered_once(_rounds, "failure HIST-04", whole=True)


@rule("approval-asked-for", "failure RSP-06")
def approval_asked_for(body: Any) -> Violations:
    """An approval names the request that it answers."""
    if _is_chained(body):
        return
    requests: set[str] = set()
    for path, item, kind in typed_items(body):
        if kind == "mcp_approval_request" and isinstance(item.get("id"), str):
            requests.add(item["id"])
        elif kind == "mcp_approval_response":
            id = item.get("approval_request_id")
            if not isinstance(id, str) or id not in requests:
                yield path, f"no preceding approval request has the id {id!r}"


@rule("reasoning-summary", "failure THINK-07")
def reasoning_summary(body: Any) -> Violations:
    """A reasoning item has a summary, even if it is empty."""
    for path, item, kind in typed_items(body):
        if kind == "reasoning" and not isinstance(item.get("summary"), list):
            yield f"{path}.summary", "missing"


@rule("reasoning-stored", "failure THINK-08", _OPENAI, status=404)
def reasoning_stored(body: Any) -> Violations:
    """With store=false no item is stored, so a reasoning item needs its encrypted_content."""
    for path, item, kind in typed_items(body) if member(body, "store") is False else ():
        if kind == "reasoning" and item.get("id") and not item.get("encrypted_content"):
            yield path, f"{item['id']} is not stored and has no encrypted_content"


@rule("reasoning-followed", "failure THINK-07", _OPENAI)
def reasoning_followed(body: Any) -> Violations:
    """A reasoning item precedes its message or call."""
    entries = [*typed_items(body)]
    from_model = [kind not in _BY_CLIENT and not _is_input(item, kind) for _, item, kind in entries]
    for (path, item, kind), followed in zip(entries, [*from_model[1:], False], strict=False):
        if kind == "reasoning" and item.get("id") and not followed:
            yield path, "no item of the same answer follows it"


def _is_input(item: dict[str, Any], kind: str) -> bool:
    return kind == "message" and item.get("role") in ("user", "system", "developer")


@rule("media-source", _API)
def media_source(body: Any) -> Violations:
    """An image or file has exactly one source, and file data has a file name."""
    for path, item, _ in typed_items(body):
        for name in ("content", "output"):
            for part_path, part in objects(item, name, path):
                if message := _wrong_source(part):
                    yield part_path, message


def _wrong_source(part: dict[str, Any]) -> str | None:
    sources = {"input_image": ("image_url", "file_id"), "input_file": ("file_data", "file_url", "file_id")}
    names = sources.get(text(part.get("type")), ())
    used = [name for name in names if part.get(name) is not None]
    if names and len(used) != 1:
        return f"must have exactly one of {', '.join(names)}"
    if used == ["image_url"] and not isinstance(part["image_url"], str):
        return "image_url must be a string"
    if used == ["file_data"] and not part.get("filename"):
        return "file_data without a filename"
    return None
