"""The parts of a script, which each module of `libraries` writes for its library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolparity.normalizer.model import Wire
from toolparity.normalizer.wires.registry import spec


class Ask(NamedTuple):
    """What a script asks a library for.

    ``tools``: the names of the functions that the caller declares, or else of those in the response. ``status``: the
    HTTP status of the response.
    """

    wire: Wire
    provider: str
    stream: bool
    tools: Sequence[str]
    status: int = 200

    @property
    def content_type(self) -> str:
        """The content type of the response."""
        if not self.stream or self.status >= 400:
            return "application/json"
        return spec(self.wire).stream_type


class Code(NamedTuple):
    """The code that asks one library.

    ``packages``: the distributions to install, in the form of pip or npm, the library first. ``imports``, ``lines``:
    whole lines; the lines find the provider at `URL`, or on ``port`` on xai.grpc. ``values``: what a script can print
    (``calls``, ``text``, ``stop``, ``complete``, ``usage``; ``answer`` of a library that has no member for the stop;
    ``ran`` and ``sent`` of an agent) -> an expression. Tests use others: ``pairs``, the names and parsed arguments of
    the calls; ``names``; ``texts``, the argument texts of a library that does not parse them; ``string``, the text as
    one string if ``text`` is not. ``server``: a key of `servers.SERVERS`. ``gather``: lines of a test that collect the
    calls of a stream.
    """

    packages: Sequence[str]
    imports: Sequence[str]
    lines: Sequence[str]
    values: Mapping[str, str]
    server: str = "http"
    gather: Sequence[str] = ()


#: The address of the provider, in an f-string.
URL = "http://127.0.0.1:{server.server_port}"


def text_calls(name: str, arguments: str, each: str) -> dict[str, str]:
    """Return the values for tests of a library that returns the arguments as text.

    ``name``, ``arguments``: members of a call. ``each``: the loop over the calls.
    """
    pairs = f"[({name}, json.loads({arguments} or '{{}}')) {each}]"
    return {"pairs": pairs, "names": f"[{name} {each}]", "texts": f"[{arguments} {each}]"}


def value_calls(name: str, arguments: str, each: str) -> dict[str, str]:
    """Return the values for tests of a library that returns the arguments as values."""
    return {"pairs": f"[({name}, {arguments}) {each}]", "names": f"[{name} {each}]"}


#: The values of an object with the members of Chat Completions, in the variable ``answer``.
CHAT = {
    "calls": "[choice.message.model_dump(exclude_none=True) for choice in answer.choices]",
    "text": "answer.choices[0].message.content",
    "stop": "answer.choices[0].finish_reason",
    "usage": "answer.usage.model_dump() if answer.usage else None",
    **text_calls("call.name", "call.arguments", "for call in functions"),
}
#: The lines that collect the functions of such an object, the deprecated form included.
CHAT_GATHER = [
    "message = answer.choices[0].message",
    "functions = [call.function for call in message.tool_calls or []] + [*filter(None, [message.function_call])]",
]
#: The same of an object with the members of Responses.
RESPONSE = {
    "calls": "[item.model_dump(exclude_none=True) for item in answer.output]",
    "text": "answer.output_text",
    "stop": "answer.model_dump(include={'status', 'incomplete_details'})",
    "usage": "answer.usage.model_dump() if answer.usage else None",
    **text_calls("item.name", "item.arguments", "for item in answer.output if item.type == 'function_call'"),
}
#: The same of an object with the members of Messages.
MESSAGE = {
    "calls": "[block.model_dump(exclude_none=True) for block in answer.content]",
    "text": "[block.model_dump(exclude_none=True) for block in answer.content]",
    "string": "''.join(block.text for block in answer.content if block.type == 'text')",
    "stop": "answer.stop_reason",
    "usage": "answer.usage.model_dump()",
    **value_calls("block.name", "block.input", "for block in answer.content if block.type == 'tool_use'"),
}
#: What an agent ran, and the request that it sent afterwards.
AGENT = {"ran": "ran", "sent": "json.loads(sent[1])"}
