"""Request rules of Ollama's server.

It decodes a request into Go types, and refuses a member of another type with the decoder's message. Members that it
does not know are ignored. Sources are its code and refusals that its users reported.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

from .. import common_rules
from ..common_rules import messages_of
from ..rule import Violations, rule, rules_in
from ..traverse import items, member, objects

_TYPES = "Ollama, api/types.go"
_CHAT = "Ollama, ChatHandler in server/routes.go"
_MESSAGE_TEXTS = ("role", "thinking", "tool_name", "tool_call_id")
#: Options whose value is a number (`Options` in `api/types.go`). The server ignores unknown options.
_NUMBERS = frozenset(
    (
        "frequency_penalty",
        "main_gpu",
        "min_p",
        "num_batch",
        "num_ctx",
        "num_gpu",
        "num_keep",
        "num_predict",
        "num_thread",
        "presence_penalty",
        "repeat_last_n",
        "repeat_penalty",
        "seed",
        "temperature",
        "top_k",
        "top_p",
        "typical_p",
    )
)
_LEVELS = ("high", "medium", "low", "max")
_DURATION = re.compile(r"[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")


def _calls(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, message in objects(body, "messages"):
        yield from objects(message, "tool_calls", path)


model_present = common_rules.model_present(
    lambda body: [("model", member(body, "model"))], f"{_CHAT}: model is required"
)
message_object = common_rules.message_object(messages_of, _TYPES)
arguments_object = common_rules.arguments_object(
    lambda body: (
        (f"{path}.function.arguments", arguments)
        for path, call in _calls(body)
        if (arguments := member(member(call, "function"), "arguments")) is not None
    ),
    "https://github.com/neuron-core/neuron-ai/issues/219",
)


@rule("content-text", "https://github.com/ollama/ollama/issues/6451")
def content_text(body: Any) -> Violations:
    """The content of a message is one text, not a list of parts."""
    for path, message in objects(body, "messages"):
        if not isinstance(message.get("content"), str | None):
            yield f"{path}.content", "must be a text"


@rule("message-texts", _TYPES)
def message_texts(body: Any) -> Violations:
    """The role, the thinking and the names in a message are texts."""
    for path, message in objects(body, "messages"):
        for name in _MESSAGE_TEXTS:
            if not isinstance(message.get(name), str | None):
                yield f"{path}.{name}", "must be a text"


@rule("image-base64", "https://github.com/ollama/ollama-js/issues/68: illegal base64 data at input byte 4")
def image_base64(body: Any) -> Violations:
    """An image is base64 data, without the beginning of a data URL."""
    for path, message in objects(body, "messages"):
        for number, image in enumerate(items(message, "images")):
            if not _is_base64(image):
                yield f"{path}.images[{number}]", "must be base64 data"


def _is_base64(image: Any) -> bool:
    try:
        base64.b64decode(image, validate=True)
    except (ValueError, TypeError):
        return False
    return True


@rule("call-function", _TYPES)
def call_function(body: Any) -> Violations:
    """A call is an object with a function, whose name is a text."""
    for path, message in objects(body, "messages"):
        for number, call in enumerate(items(message, "tool_calls")):
            function = member(call, "function")
            if not isinstance(function, dict) or not isinstance(function.get("name"), str | None):
                yield f"{path}.tool_calls[{number}]", "must have a function with a name"


@rule("tool-types", "https://github.com/ollama/ollama/issues/10328")
def tool_types(body: Any) -> Violations:
    """The members of a tool definition have the types of the server."""
    for path, tool in objects(body, "tools"):
        function = member(tool, "function")
        parameters = member(function, "parameters")
        members: tuple[tuple[str, Any, type], ...] = (
            ("function", function, dict),
            ("function.name", member(function, "name"), str),
            ("function.description", member(function, "description"), str),
            ("function.parameters", parameters, dict),
            ("function.parameters.type", member(parameters, "type"), str),
            ("function.parameters.properties", member(parameters, "properties"), dict),
            ("function.parameters.required", member(parameters, "required"), list),
        )
        for name, value, kind in members:
            if value is not None and not isinstance(value, kind):
                yield f"{path}.{name}", f"must be of type {kind.__name__}"


@rule("format-invalid", "https://github.com/jakubburkiewicz/node-red-contrib-ollama/issues/22", status=500)
def format_invalid(body: Any) -> Violations:
    """The format is "json" or a JSON schema."""
    format = member(body, "format")
    if not (format is None or isinstance(format, dict) or format in ("", "json")):
        yield "format", 'must be "json" or a JSON schema'


@rule("think-invalid", f"{_TYPES}, ThinkValue: invalid think value")
def think_invalid(body: Any) -> Violations:
    """The setting for thinking is a boolean or a level."""
    think = member(body, "think")
    if not (think is None or isinstance(think, bool) or think in _LEVELS):
        yield "think", f"must be a boolean or one of {', '.join(_LEVELS)}"


@rule("keep-alive-invalid", f"{_TYPES}, Duration")
def keep_alive_invalid(body: Any) -> Violations:
    """The time to keep the model loaded is a number of seconds or a duration such as "5m"."""
    duration = member(body, "keep_alive")
    if isinstance(duration, str):
        valid = _DURATION.fullmatch(duration) is not None
    else:
        valid = duration is None or (isinstance(duration, (int, float)) and not isinstance(duration, bool))
    if not valid:
        yield "keep_alive", "must be a number or a duration"


@rule("stream-boolean", _TYPES)
def stream_boolean(body: Any) -> Violations:
    """The setting for streaming is a boolean."""
    if not isinstance(member(body, "stream"), bool | None):
        yield "stream", "must be a boolean"


@rule("logprobs-range", f"{_CHAT}: top_logprobs must be between 0 and 20")
def logprobs_range(body: Any) -> Violations:
    """The number of alternative tokens is between 0 and 20."""
    number = member(body, "top_logprobs")
    if not (number is None or (type(number) is int and 0 <= number <= 20)):
        yield "top_logprobs", "must be between 0 and 20"


@rule("options-object", _TYPES)
def options_object(body: Any) -> Violations:
    """The options are an object."""
    if not isinstance(member(body, "options"), dict | None):
        yield "options", "must be an object"


@rule("option-number", f"{_TYPES}, Options.FromMap: option must be of type integer", status=500)
def option_number(body: Any) -> Violations:
    """An option that is a number has a number as its value."""
    options = member(body, "options")
    for name in sorted(_NUMBERS & options.keys() if isinstance(options, dict) else ()):
        value = options[name]
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            yield f"options.{name}", "must be a number"


@rule("option-stop", "https://github.com/stavsap/comfyui-ollama/issues/103", status=500)
def option_stop(body: Any) -> Violations:
    """The stop sequences are a list of texts."""
    stop = member(member(body, "options"), "stop")
    if not (stop is None or (isinstance(stop, list) and all(isinstance(item, str) for item in stop))):
        yield "options.stop", "must be a list of texts"


RULES = rules_in(globals())
