"""When two requests of a wire mean the same: `meaning` makes every equivalent form one, each with its reason.

With ``erased``, only what the canonical fields carry is compared: `without_extra` has removed the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import groupby
from typing import Any

from google.protobuf.json_format import ParseDict
from msgspec.structs import replace
from xai_sdk.proto import chat_pb2

from toolparity.normalizer.conversation import Assistant, Message, Request
from toolparity.normalizer.model import Block, Opaque, Wire
from toolparity.normalizer.wires.write_context import AS_WRITTEN

Body = dict[str, Any]


def meaning(wire: Wire, body: Any, *, erased: bool = False) -> Any:
    """Return the body without differences that have no meaning."""
    return _MEANINGS[wire](json.loads(body) if isinstance(body, str) else body, erased)


def without_extra(request: Request) -> Request:
    """Return the request without the ``extra`` members of the model's answers.

    Signatures of Gemini's texts and calls remain, because no canonical field has them; so does ``raw`` of the results
    of server tools, because it is their canonical field.
    """

    def block(given: Block) -> Block:
        signature = {k: v for k, v in given.extra.items() if k == "thoughtSignature"}
        return given if isinstance(given, Opaque) else replace(given, extra=signature)

    def message(given: Message) -> Message:
        if not isinstance(given, Assistant):
            return given
        choices = [replace(c, blocks=[block(b) for b in c.blocks], extra={}) for c in given.response.choices]
        extra = {k: v for k, v in given.extra.items() if k != AS_WRITTEN} if request.wire == "openai.chat" else {}
        return Assistant(replace(given.response, choices=choices, extra={}), extra)

    return replace(request, messages=[message(given) for given in request.messages])


def _given(members: Body) -> Body:
    """A member that is None is one that is absent: every optional member of these APIs may be null."""
    return {key: value for key, value in members.items() if value is not None}


def _given_everywhere(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _given_everywhere(member) for key, member in value.items() if member is not None}
    return [_given_everywhere(item) for item in value] if isinstance(value, list) else value


def _texts(content: Any) -> Any:
    """A string is one text; an empty one contains nothing."""
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []


def _merged(
    messages: list[Body], member: str = "content", roles: tuple[str, ...] = ("user", "assistant")
) -> list[Body]:
    """Messages of one role that follow each other are one turn."""
    merged: list[Body] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"] in roles:
            merged[-1] = merged[-1] | {member: merged[-1][member] + message[member]}
        else:
            merged.append(message)
    return merged


def _openai_chat(body: Body, erased: bool) -> Body:
    plain = _given(body)
    messages = [_chat_message(message, erased) for message in body["messages"]]
    runs = groupby(messages, key=lambda message: message["role"] == "tool")
    # Results may follow in any order: each names its call.
    plain["messages"] = [
        message
        for results, run in runs
        for message in (sorted(run, key=lambda result: str(result.get("tool_call_id"))) if results else run)
    ]
    if isinstance(plain.get("tools"), list):  # a tool without a type is a function
        plain["tools"] = [{"type": "function"} | _given(tool) for tool in plain["tools"]]
    if plain.get("tool_choice") == "any":  # Mistral's word
        plain["tool_choice"] = "required"
    return plain


def _chat_message(message: Body, erased: bool) -> Body:
    plain = _given(message)
    if "content" in plain and (plain["content"] or message["role"] == "assistant"):
        plain["content"] = [_chat_part(part, erased) for part in _texts(plain["content"])]
    if message["role"] != "assistant":
        return plain
    # Nothing is stated by an empty list or text; providers differ in which of them they accept.
    empty = ("content", "annotations", "tool_calls", "refusal", "reasoning", "reasoning_content")
    plain = {key: value for key, value in plain.items() if value or key not in empty}
    if "tool_calls" in plain:  # the index is left over from a stream
        calls = [{"type": "function"} | _given(call) for call in plain["tool_calls"]]
        plain["tool_calls"] = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    if erased:
        _merge_reasoning(plain)
    return plain


def _chat_part(part: Any, erased: bool) -> Any:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in ("image_url", "document_url") and isinstance(part[kind], str):  # Mistral accepts the URL alone
        return {**part, kind: {"url": part[kind]}}
    if kind == "thinking" and erased:  # Mistral divides a thought into several texts
        return {"type": kind, "thinking": "".join(piece["text"] for piece in part["thinking"])}
    return part


def _merge_reasoning(plain: Body) -> None:
    """Two members have one text: a gateway sends both. Details with nothing but a text are that text."""
    texts = [plain.pop(name) for name in ("reasoning_content", "reasoning") if name in plain]
    members = ("text", "summary", "signature", "data")
    details = [{m: detail[m] for m in members if detail.get(m)} for detail in plain.pop("reasoning_details", ())]
    if any(detail.keys() - {"text"} for detail in details):
        plain["reasoning_details"] = details
    elif details or texts:
        plain["reasoning"] = texts[0] if texts else "".join(detail["text"] for detail in details)


def _openai_responses(body: Body, erased: bool) -> Body:
    plain: Body = _given_everywhere(body)
    if plain.get("tools") == []:
        del plain["tools"]
    items = plain.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if isinstance(items, list):
        plain["input"] = [_item(item) for item in items]
        if erased:
            items = [stated for item in plain["input"] if (stated := _canonical_item(item)) is not None]
            plain["input"] = _merged(items, roles=("assistant",))
    return plain


def _item(item: Body) -> Body:
    kind = item.get("type", "message")
    if kind == "reasoning":  # some servers leave the summary out, which requests have to have
        return {"summary": []} | item
    if kind != "message":
        return item
    item = {key: value for key, value in item.items() if key != "type"}  # messages need no type
    if isinstance(item.get("content"), list):
        empty = ("annotations", "logprobs")
        item["content"] = [{k: v for k, v in part.items() if v != [] or k not in empty} for part in item["content"]]
    return item


def _canonical_item(item: Body) -> Body | None:
    """Return what the model stated and did, without the ids of items, states and the division of thoughts into parts.

    A stored thought with neither text nor encrypted content is nothing but its id: None.
    """
    kind = item.get("type", "message")
    if kind == "message" and item.get("role") == "assistant":
        parts = [{"text": item["content"]}] if isinstance(item["content"], str) else item["content"]
        texts = [value for part in parts for value in _stated(part)]
        return {"role": "assistant", "content": texts}
    if kind == "reasoning":
        texts = [part["text"] for part in item.get("content") or item["summary"]]
        stated = {"role": kind, "text": "\n\n".join(texts), "encrypted": item.get("encrypted_content")}
        return stated if texts or stated["encrypted"] else None
    if kind.endswith("_call") or kind == "program":
        item = {key: value for key, value in item.items() if key not in ("status", "async", "agent", "created_by")}
    return {"role": None} | item


def _stated(part: Body) -> list[Any]:
    if part.get("type") == "refusal":
        return [{"refusal": part["refusal"]}]
    return [part["text"]] * bool(part.get("text")) + (part.get("annotations") or [])


def _anthropic_messages(body: Body, erased: bool) -> Body:
    plain = _given(body)
    plain["system"] = _anthropic_blocks(plain.get("system"))
    plain["tools"] = [_given(tool) for tool in plain.get("tools") or ()]
    messages = [_given(message) for message in body["messages"]]
    messages = [message | {"content": _anthropic_blocks(message.get("content"))} for message in messages]
    return plain | {"messages": _merged(messages)}  # documented at `messages`


def _anthropic_blocks(content: Any) -> list[Body]:
    blocks = [_given(block) for block in _texts(content)]
    for block in blocks:
        if block["type"] == "tool_result":
            block["content"] = _anthropic_blocks(block.get("content"))
            if block.get("is_error") is False:  # the default
                del block["is_error"]
        elif block["type"] == "thinking":  # the API's types require the member, other servers do not
            block.setdefault("signature", "")
        elif block["type"] == "text" and block.get("citations") == []:
            del block["citations"]
    return blocks


def _xai_grpc(body: Any, erased: bool) -> Any:
    plain = chat_pb2.GetCompletionsRequest()
    if isinstance(body, dict):
        ParseDict(body, plain)
    else:
        plain.CopyFrom(body)
    open_ids: list[str] = []
    for message in plain.messages:
        if not message.content:  # a message without content is one with an empty text, which xAI does not refuse
            message.content.add(text="")
        client = [call.id for call in message.tool_calls if call.type == chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL]
        if message.role == chat_pb2.ROLE_ASSISTANT and client:
            open_ids = client
        elif message.role == chat_pb2.ROLE_TOOL and open_ids and not message.tool_calls:
            message.tool_call_id = message.tool_call_id or open_ids[0]  # so xAI pairs them
            open_ids = [id for id in open_ids if id != message.tool_call_id]
    return plain


def _cohere_chat(body: Body, erased: bool) -> Body:
    messages = [_given(message) for message in body["messages"]]
    for message in messages:
        if isinstance(message.get("content"), str):  # treated as a text block (cohere.types.UserMessageV2)
            message["content"] = [{"type": "text", "text": message["content"]}]
    return _given(body) | {"messages": messages}


def _ollama_chat(body: Body, erased: bool) -> Body:
    """The server's types do not distinguish an empty member from an absent one; the SDK sends ``tools: []``."""

    def stated(members: Body) -> Body:
        return {key: value for key, value in members.items() if value not in (None, "", [], {})}

    return {**stated(body), "messages": [stated(message) for message in body["messages"]]}


def _bedrock_converse(body: Body, erased: bool) -> Body:
    plain: Body = json.loads(json.dumps(body))
    for member in ("system", "inferenceConfig"):
        if not plain.get(member):  # an empty list or object states nothing
            plain.pop(member, None)
    for message in plain["messages"]:
        for block in message["content"]:  # the type of a call is the default; the service model has no such value
            if block.get("toolUse", {}).get("type") == "tool_use":
                del block["toolUse"]["type"]
    return plain | {"messages": _merged(plain["messages"])}


#: Members of generateContent that contain names of the caller.
_CALLERS_NAMES = (
    "args",
    "response",
    "parameters",
    "parametersJsonSchema",
    "responseSchema",
    "responseJsonSchema",
    "labels",
)


def _google_gemini(body: Body, erased: bool) -> Body:
    plain: Body = _camel_case(body)
    contents = []
    for content in _listed(plain["contents"]):
        parts = [part for part in _listed(content.get("parts")) if part != {"text": ""}]
        for part in parts:
            if "functionCall" in part:  # the SDK for Go leaves out an empty object of arguments
                part["functionCall"].setdefault("args", {})
            elif part.get("thought"):  # a thought with nothing but its signature
                part.setdefault("text", "")
        if parts:  # a content without a role, or with `function` in older versions, is the user's
            role = "model" if content.get("role") == "model" else "user"
            contents.append({**content, "parts": parts, "role": role})
    plain["contents"] = _merged(contents, "parts", ("user",))
    if "systemInstruction" in plain:
        plain["systemInstruction"]["parts"] = _listed(plain["systemInstruction"].get("parts"))
    # A tool is a holder: it does not matter which one contains a declaration or a hosted tool.
    tools = [
        [name, item]
        for tool in _listed(plain.get("tools"))
        for name, value in tool.items()
        for item in (_listed(value) if name == "functionDeclarations" else [value])
    ]
    plain["tools"] = sorted(tools, key=lambda tool: json.dumps(tool, sort_keys=True))
    calling = plain.get("toolConfig", {}).get("functionCallingConfig", {})
    if "mode" in calling:
        calling["mode"] = calling["mode"].upper()
    if plain.get("generationConfig") == {}:
        del plain["generationConfig"]
    return plain


def _camel_case(value: Any) -> Any:
    """The API accepts names in snake case and in camel case."""
    if isinstance(value, list):
        return [_camel_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {re.sub(r"_([a-z])", lambda match: match[1].upper(), name): v for name, v in _given(value).items()}
    return {name: member if name in _CALLERS_NAMES else _camel_case(member) for name, member in members.items()}


def _listed(value: Any) -> list[Any]:
    """A repeated member with one item may leave out its list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _google_interactions(body: Body, erased: bool) -> Body:
    """A text is one content, and contents without steps are one step of the user."""
    contents = _listed(_texts(body["input"]))
    if all(part.get("type") in ("text", "image", "audio", "video", "document") for part in contents):
        contents = [{"type": "user_input", "content": contents}]
    steps = [step | {"content": _texts(step["content"])} if "content" in step else step for step in contents]
    return _given(body) | {"input": steps}


_MEANINGS: dict[str, Callable[[Any, bool], Any]] = {
    "openai.chat": _openai_chat,
    "openai.responses": _openai_responses,
    "anthropic.messages": _anthropic_messages,
    "xai.grpc": _xai_grpc,
    "google.gemini": _google_gemini,
    "cohere.chat": _cohere_chat,
    "ollama.chat": _ollama_chat,
    "google.interactions": _google_interactions,
    "bedrock.converse": _bedrock_converse,
}
