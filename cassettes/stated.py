"""What a request states beside its texts and tools: the settings and media of a scenario, and where each wire has them.

A setting has one name, a member of `Stated`. A scenario states it in its table ``[request]``. `PLACES` lists where the
wires have it; a wire that has no place for it cannot state it. `state` writes it into a request, and `stated_by` reads
it. The suite compares both, and shares no code with the readers and writers of the normalizer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

Json = dict[str, Any]


class Stated(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The table ``[request]`` of a scenario.

    ``length``: the limit of output tokens. ``format``: the JSON schema of the answer; ``json``: any JSON. ``effort``:
    of reasoning. ``user``, ``metadata``, ``service_tier``, ``store``, ``cache_key``: for the provider's accounts and
    caches. ``cache``: the system prompt, the tools and the user's text are marked for the prompt cache.

    Media of the user's first message: ``image``: a PNG, and ``document``: a PDF, in base64; ``image_url`` and
    ``document_url``: their addresses. ``tool_choice``: "required", or the name of a tool.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    length: int | None = None
    stop: list[str] | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    format: Json | None = None
    json: bool | None = None
    effort: str | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    store: bool | None = None
    cache_key: str | None = None
    cache: bool | None = None
    image: str | None = None
    image_url: str | None = None
    document: str | None = None
    document_url: str | None = None
    tool_choice: str | None = None

    @property
    def settings(self) -> Json:
        """What is stated, by name. The tool choice is part of the canonical request instead."""
        values: Json = msgspec.to_builtins(self)
        return {name: value for name, value in values.items() if name != "tool_choice"}


#: Settings whose values only their provider defines: another provider need not get them.
OWNED = frozenset(("effort", "user", "metadata", "service_tier", "store", "cache_key", "cache"))
#: The settings that are parts of the user's message.
MEDIA = frozenset(("image", "image_url", "document", "document_url"))


class Place(Struct, frozen=True):
    """The ``path`` of a setting in a body, with dots between levels. ``beside``: members that it needs.

    ``write`` and ``read`` convert the value; ``read`` returns None for a value that states something else.
    """

    path: str
    beside: Json = {}
    write: Callable[[Any], Any] = lambda value: value
    read: Callable[[Any], Any] = lambda value: value


def _alike(names: str, prefix: str = "", **others: str | Place) -> dict[str, Place]:
    """Return the places of settings that have the same name on the wire, and of others."""
    places = {name: Place(f"{prefix}{name}") for name in names.split()}
    return places | {name: place if isinstance(place, Place) else Place(place) for name, place in others.items()}


def _constant(path: str, constant: Any) -> Place:
    """Return the place of a setting that is stated by a constant."""
    return Place(path, {}, lambda _: constant, lambda value: True if value == constant else None)


def _word(path: str, before: str = "") -> Place:
    """Return the place of a word that the wire has in capital letters, behind a prefix."""
    return Place(path, {}, lambda word: before + word.upper(), lambda word: word.removeprefix(before).lower())


def _schema_text(path: str, beside: Json) -> Place:
    return Place(path, beside, json.dumps, _schema)


def _schema(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def _part(template: Json | str) -> Place:
    """Return the place of media: a part of the user's message, with ``$`` for the data or the address."""
    text = json.dumps(template)
    return Place("", {}, lambda value: json.loads(text.replace("$", value)))


_PNG, _PDF = "data:image/png;base64,$", "data:application/pdf;base64,$"
_SAMPLING = "temperature top_p seed frequency_penalty presence_penalty"
_NAMED = {"type": "json_schema", "name": "report", "strict": False}
_CHAT = _alike(
    f"{_SAMPLING} stop logprobs top_logprobs user metadata service_tier store",
    length="max_completion_tokens",
    effort="reasoning_effort",
    cache_key="prompt_cache_key",
    format=Place(
        "response_format.json_schema.schema",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "report", "strict": False}}},
    ),
    json=_constant("response_format", {"type": "json_object"}),
    image=_part({"type": "image_url", "image_url": {"url": _PNG}}),
    image_url=_part({"type": "image_url", "image_url": {"url": "$"}}),
)
#: Wire or surface -> name -> place. A surface has its own entry if its provider lacks something.
PLACES: dict[str, dict[str, Place]] = {
    "openai.chat": _CHAT | {"document": _part({"type": "file", "file": {"filename": "plan.pdf", "file_data": _PDF}})},
    "xai.chat": {name: place for name, place in _CHAT.items() if name not in OWNED}
    | _alike("user", effort="reasoning_effort"),
    "openai.responses": _alike(
        "temperature top_p top_logprobs user metadata service_tier store",
        length="max_output_tokens",
        effort="reasoning.effort",
        cache_key="prompt_cache_key",
        format=Place("text.format.schema", {"text": {"format": _NAMED}}),
        json=_constant("text.format", {"type": "json_object"}),
        image=_part({"type": "input_image", "detail": "auto", "image_url": _PNG}),
        image_url=_part({"type": "input_image", "detail": "auto", "image_url": "$"}),
        document=_part({"type": "input_file", "filename": "plan.pdf", "file_data": _PDF}),
        document_url=_part({"type": "input_file", "file_url": "$"}),
    ),
    "anthropic.messages": _alike(
        "temperature top_p top_k service_tier",
        length="max_tokens",
        stop="stop_sequences",
        user="metadata.user_id",
        effort="output_config.effort",
        format=Place("output_config.format.schema", {"output_config": {"format": {"type": "json_schema"}}}),
        image=_part({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "$"}}),
        image_url=_part({"type": "image", "source": {"type": "url", "url": "$"}}),
        document=_part(
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "$"}}
        ),
        document_url=_part({"type": "document", "source": {"type": "url", "url": "$"}}),
        cache=_part({"cache_control": {"type": "ephemeral"}}),
    ),
    "xai.grpc": _alike(
        f"{_SAMPLING} stop user logprobs top_logprobs",
        length="max_tokens",
        effort=_word("reasoning_effort", "EFFORT_"),
        format=_schema_text("response_format.schema", {"response_format": {"format_type": "FORMAT_TYPE_JSON_SCHEMA"}}),
        json=_constant("response_format", {"format_type": "FORMAT_TYPE_JSON_OBJECT"}),
        image=_part({"image_url": {"image_url": _PNG, "detail": "DETAIL_AUTO"}}),
        image_url=_part({"image_url": {"image_url": "$", "detail": "DETAIL_AUTO"}}),
        document=_part({"file": {"filename": "plan.pdf", "mime_type": "application/pdf", "data": "$"}}),
        document_url=_part({"file": {"url": "$"}}),
    ),
    "google.gemini": _alike(
        "temperature seed",
        "generationConfig.",
        top_p="generationConfig.topP",
        top_k="generationConfig.topK",
        length="generationConfig.maxOutputTokens",
        stop="generationConfig.stopSequences",
        frequency_penalty="generationConfig.frequencyPenalty",
        presence_penalty="generationConfig.presencePenalty",
        logprobs="generationConfig.responseLogprobs",
        top_logprobs="generationConfig.logprobs",
        effort=_word("generationConfig.thinkingConfig.thinkingLevel"),
        format=Place(
            "generationConfig.responseJsonSchema", {"generationConfig": {"responseMimeType": "application/json"}}
        ),
        json=_constant("generationConfig.responseMimeType", "application/json"),
        image=_part({"inlineData": {"mimeType": "image/png", "data": "$"}}),
        image_url=_part({"fileData": {"mimeType": "image/png", "fileUri": "$"}}),
        document=_part({"inlineData": {"mimeType": "application/pdf", "data": "$"}}),
        document_url=_part({"fileData": {"mimeType": "application/pdf", "fileUri": "$"}}),
    ),
    "google.interactions": _alike(
        "temperature top_p seed",
        "generation_config.",
        length="generation_config.max_output_tokens",
        stop="generation_config.stop_sequences",
        effort="generation_config.thinking_level",
        format=Place("response_format.schema", {"response_format": {"type": "text", "mime_type": "application/json"}}),
        json=_constant("response_format", {"type": "text", "mime_type": "application/json"}),
        image=_part({"type": "image", "mime_type": "image/png", "data": "$"}),
        image_url=_part({"type": "image", "mime_type": "image/png", "uri": "$"}),
        document=_part({"type": "document", "mime_type": "application/pdf", "data": "$"}),
        document_url=_part({"type": "document", "mime_type": "application/pdf", "uri": "$"}),
    ),
    "bedrock.converse": _alike(
        "temperature",
        "inferenceConfig.",
        top_p="inferenceConfig.topP",
        length="inferenceConfig.maxTokens",
        stop="inferenceConfig.stopSequences",
        metadata="requestMetadata",
        format=_schema_text(
            "outputConfig.textFormat.structure.jsonSchema.schema",
            {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"name": "report"}}}}},
        ),
        image=_part({"image": {"format": "png", "source": {"bytes": "$"}}}),
        document=_part({"document": {"format": "pdf", "name": "plan", "source": {"bytes": "$"}}}),
        cache=_part({"cachePoint": {"type": "default"}}),
    ),
    # The API takes no format of the answer beside tools, which all scenarios have.
    "cohere.chat": _alike(
        "temperature seed frequency_penalty presence_penalty logprobs",
        top_p="p",
        top_k="k",
        length="max_tokens",
        stop="stop_sequences",
        image=_part({"type": "image_url", "image_url": {"url": _PNG}}),
        image_url=_part({"type": "image_url", "image_url": {"url": "$"}}),
    ),
    "ollama.chat": _alike(
        f"{_SAMPLING} top_k stop",
        "options.",
        length="options.num_predict",
        logprobs="logprobs",
        top_logprobs="top_logprobs",
        format=Place("format", read=lambda value: value if isinstance(value, dict) else None),
        json=_constant("format", "json"),
        image=_part("$"),
    ),
}
#: Wire -> the tool choices that it lacks.
LACKING_CHOICES = {
    "ollama.chat": frozenset(("none", "required", "named")),
    "cohere.chat": frozenset(("named",)),
    "bedrock.converse": frozenset(("none",)),
}
#: Provider -> settings that its default models refuse, and a model that takes them.
OTHER_MODELS: dict[str, tuple[frozenset[str], str]] = {
    "openai": (
        frozenset(("temperature", "top_p", "stop", "frequency_penalty", "presence_penalty", "logprobs")),
        "gpt-4.1-mini",
    ),
    "anthropic": (frozenset(("effort",)), "claude-opus-4-5"),
    "xai": (frozenset(("effort",)), "grok-4.3"),
}


def can_state(stated: Stated, surface: str, wire: str) -> bool:
    """Return whether requests to a surface have a place for everything that is stated."""
    choice = stated.tool_choice if stated.tool_choice in (None, "required") else "named"
    has_places = stated.settings.keys() <= PLACES.get(surface, PLACES.get(wire, {})).keys()
    return has_places and choice not in LACKING_CHOICES.get(wire, ())


def model_for(stated: Stated, provider: str) -> str | None:
    """Return the model that a request names instead of the surface's, or None."""
    names, model = OTHER_MODELS.get(provider, (frozenset(), ""))
    return model if not names.isdisjoint(stated.settings) else None


def state(body: Json, stated: Stated, surface: str, wire: str) -> Json:
    """Return the body of a first request with what is stated, as far as the wire has a place for it."""
    body = json.loads(json.dumps(body))
    places = PLACES.get(surface, PLACES.get(wire, {}))
    parts = []
    for name, value in stated.settings.items():
        place = places.get(name)
        if place is None:
            continue
        if name in MEDIA:
            parts.append(place.write(value))
        elif name == "cache":
            _mark(body, place.write(""))
        else:
            _merge(body, place.beside)
            *outer, last = place.path.split(".")
            holder = body
            for key in outer:
                holder = holder.setdefault(key, {})
            holder[last] = place.write(value)
    if parts:
        message = _users(body)[-1]
        if wire == "ollama.chat":
            message["images"] = parts
        else:
            _contents(message, wire)[:0] = parts
    return body


def stated_by(body: Json, wire: str) -> Json:
    """Return what a request states, by name: the settings of `PLACES`, the media and the marks for the cache."""
    found: Json = {}
    for name, place in PLACES.get(wire, {}).items():
        if not place.path or any(_at(body, path) != _at(place.beside, path) for path in _constants(place.beside)):
            continue
        if (value := _at(body, place.path.split("."))) is not None and (read := place.read(value)) is not None:
            found[name] = read
    if "format" in found:
        found.pop("json", None)  # a wire may state both
    for name, source in _media(body):
        found.setdefault(name, source)
    if marks := _marks(body):
        found["cache"] = marks
    return found


def _marks(body: Json) -> int:
    """Return how many marks for the cache a request has."""
    try:
        text = msgspec.json.encode(body)
    except (ValueError, OverflowError):  # half a surrogate pair, or a large number
        text = json.dumps(body).encode()
    return text.count(b'"cache_control"') + text.count(b'"cachePoint"')


def without(body: Json, wire: str, names: Iterable[str]) -> Json:
    """Return the members of a body that do not state the settings with these names."""
    rest: Json = json.loads(json.dumps(body))
    for place in (place for name, place in PLACES.get(wire, {}).items() if name in names and place.path):
        _remove(rest, place.path.split("."))
        for path in _paths(place.beside):
            _remove(rest, path)
    return rest


def without_parts(body: Json, name: str) -> Json:
    """Return a body without media of this name in the user's messages, or without the marks for the ``cache``."""
    body = json.loads(json.dumps(body))
    if name == "cache":
        unmarked: Json = _unmarked(body)
        return unmarked
    for message in _users(body):
        message.pop("images", None)
        if isinstance(parts := message.get("content", message.get("parts")), list):
            parts[:] = [part for part in parts if name not in dict(_media_of(part))]
    return body


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(member) for name, member in value.items() if name != "cache_control"}
    if isinstance(value, list):
        return [_unmarked(each) for each in value if each != {"cachePoint": {"type": "default"}}]
    return value


def _at(value: Any, path: list[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _constants(beside: Json) -> list[list[str]]:
    """Return the paths of the members that a setting needs with this value: not those of its name and strictness."""
    return [path for path in _paths(beside) if path[-1] not in ("name", "strict")]


def _paths(value: Any) -> Iterator[list[str]]:
    """Yield the path of each member that holds no object."""
    for name, member in value.items():
        if isinstance(member, dict):
            yield from ([name, *path] for path in _paths(member))
        else:
            yield [name]


def _remove(body: Any, path: list[str]) -> None:
    """Remove a member, and the objects that it leaves empty."""
    name, *inner = path
    if not isinstance(body, dict) or name not in body:
        return
    if inner:
        _remove(body[name], inner)
    if not inner or body[name] == {}:
        del body[name]


def _users(body: Json) -> list[Json]:
    """Return the user's messages."""
    key = next((name for name in _CONVERSATIONS if name in body), "messages")
    if isinstance(body[key], str):
        body[key] = [{"type": "user_input", "content": body[key]}]
    roles = ("user", "ROLE_USER")
    return [item for item in body[key] if item.get("role") in roles or item.get("type") == "user_input"]


#: The members of the wires for the conversation.
_CONVERSATIONS = ("input", "contents", "messages")


def _contents(message: Json, wire: str = "") -> list[Any]:
    """Return the parts of a message; a text becomes one."""
    key = "parts" if "parts" in message else "content"
    if isinstance(message[key], str):
        kind = "input_text" if wire == "openai.responses" else "text"
        message[key] = [{"type": kind, "text": message[key]}]
    parts: list[Any] = message[key]
    return parts


def _mark(body: Json, mark: Json) -> None:
    """Mark the system prompt, the tools and the user's text for the prompt cache."""
    tools = body["toolConfig"]["tools"] if "toolConfig" in body else body["tools"]
    if isinstance(body.get("system"), str):
        body["system"] = [{"type": "text", "text": body["system"]}]
    for marked in filter(None, (body.get("system"), tools, _contents(_users(body)[-1]))):
        if "cache_control" in mark:
            marked[-1].update(mark)
        else:
            marked.append(mark)


def _merge(body: Json, other: Json) -> None:
    for name, value in other.items():
        if isinstance(value, dict) and isinstance(body.get(name), dict):
            _merge(body[name], value)
        else:
            body[name] = json.loads(json.dumps(value))


def _media(body: Json) -> Iterator[tuple[str, str]]:
    """Yield the name and the data or the address of each image and document in the user's messages."""
    if isinstance(next((body[name] for name in _CONVERSATIONS if name in body), ""), str):
        return
    for message in _users(body):
        yield from (("image", image) for image in message.get("images") or ())
        parts = message.get("parts", message.get("content"))
        for part in parts if isinstance(parts, list) else ():
            yield from _media_of(part)


def _media_of(part: Any) -> Iterator[tuple[str, str]]:
    kind = "image" if "image" in f"{[*part]} {part.get('type')} {_type_of(part)}" else "document"
    kinds = ["image", "document"] if part.keys() == {"fileData"} and not _type_of(part) else [kind]
    for source in _sources(part):
        data = source.rpartition(";base64,")[2]
        yield from ((kind + "_url" * ("://" in data), data) for kind in kinds)


def _type_of(part: Any) -> str:
    names = ("mimeType", "mime_type", "media_type")
    held = [part, *(each for each in part.values() if isinstance(each, dict))]
    return next((str(each[name]) for each in held for name in names if name in each), "")


def _sources(value: Any) -> Iterator[str]:
    for key, member in value.items() if isinstance(value, dict) else ():
        if key in _SOURCES and isinstance(member, str):
            yield member
        elif key not in _RESULTS:
            yield from _sources(member)


#: The members of parts that hold data or an address.
_SOURCES = frozenset(("url", "image_url", "file_data", "file_url", "data", "bytes", "uri", "fileUri"))
#: The parts of a user's message that are results of calls.
_RESULTS = frozenset(("toolResult", "functionResponse", "content"))
