"""The type of a turn's final answer: a Python type or a JSON schema, which the answer must fit as JSON.

The provider requires the form by its own means (`normalizer.output_format`). Where it has none for the schema, or
refuses them, the schema is a part of the instructions. A model that answers otherwise gets the problems and is asked
again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Encoded, Message, Part, Request, System, TextPart
from toolparity.normalizer.model import Block, Choice, Error, Response, Text
from toolparity.normalizer.output_format import OutputFormat, output_format
from toolparity.normalizer.wires.registry import wire_name

from .errors import InvalidTool, OutputUnfit
from .execution.typed.value_types import ValueType, problems, schemas, value_type
from .execution.validation import check_schema
from .execution.validation import problems as schema_problems
from .provider import Provider

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_INSTRUCTIONS = "Your final answer must be one JSON value that fits this JSON schema, without any other text:\n{schema}"
#: Statuses with which providers refuse a member of a request.
_REFUSALS = (400, 422)
_CORRECTION = (
    "Your answer does not fit the JSON schema: {problems}. Answer again, with one JSON value that fits the schema, and "
    "without any other text."
)


class OutputType(Struct, frozen=True):
    """The required form of an answer. ``type``: to which the JSON value is converted, None to keep the value."""

    schema: dict[str, Any]
    type: ValueType | None = None

    def read(self, text: str) -> Any:
        """Return the value of an answer. Raises OutputUnfit."""
        value = _json_value(text)
        if self.type is None:
            found = schema_problems(self.schema, value)
            if found:
                raise OutputUnfit(found)
            return value
        try:
            return self.type.convert(value)
        except Exception as error:  # a validator of the type can raise anything
            raise OutputUnfit(problems(error)) from None

    def correction(self, text: str) -> str | None:
        """Return the message that asks for another answer, None if this one fits."""
        try:
            self.read(text)
        except OutputUnfit as error:
            return _CORRECTION.format(problems="; ".join(error.problems))
        return None


class OutputAdapter:
    """Writes the required form of the answer into requests to one provider, and restores its answers.

    ``output``: None for any answer. A provider with ``takes_formats`` false gets the form in the instructions.
    """

    def __init__(self, output: OutputType | None, provider: Provider) -> None:
        self._output = output
        self._provider = provider
        self._takes_formats = getattr(provider, "takes_formats", True)
        self._format: OutputFormat | None = None  # of the last request
        #: The first message, the text to add to it, and the message that is sent.
        self._prompt: tuple[Message | None, str, Message] | None = None

    def instructed(self, request: Request) -> Request:
        """Return the request with the schema in its system prompt, unless the provider has means that show it."""
        if self._output is None:
            return request
        self._format = self._output_format(self._output, request)
        if self._format is not None and not self._format.unseen:
            return request
        schema = self._output.schema if self._format is None else self._format.schema
        return self._prompted(request, _INSTRUCTIONS.format(schema=json_codec.text(schema)))

    def applied(self, encoded: Encoded) -> Encoded:
        """Return the written request with the provider's own means."""
        return self._format.applied(encoded) if self._format is not None else encoded

    def restored(self, response: Response) -> Response:
        """Return the answer as the declared schema describes it."""
        if self._format is None:
            return response
        choices = _restored(response.choices, self._format)
        return replace(response, choices=choices).with_findings(list(response.findings))

    def is_refused(self, error: Error) -> bool:
        """Return whether the provider may have refused its own means. Later requests have the instructions instead."""
        if self._format is None or error.status not in _REFUSALS:
            return False
        self._takes_formats = False
        return True

    def _output_format(self, output: OutputType, request: Request) -> OutputFormat | None:
        if not self._takes_formats:
            return None
        provider, tools = self._provider, bool(request.tools)
        model = request.model or provider.model
        return output_format(output.schema, wire_name(provider.wire), provider=provider.name, model=model, tools=tools)

    def _prompted(self, request: Request, text: str) -> Request:
        """Return the request with a text at the end of its system prompt, as the same message for the same one."""
        first = next(iter(request.messages), None)
        system = first if isinstance(first, System) and len(first.parts) == 1 else None
        before = system.parts[0].text if system is not None and isinstance(system.parts[0], TextPart) else ""
        if text in before:  # in a state of an earlier version
            return request
        if self._prompt is None or self._prompt[0] is not system or self._prompt[1] != text:
            parts: list[Part] = [TextPart(f"{before}\n\n{text}" if before else text)]
            sent = replace(system, parts=parts) if system is not None and before else System(parts)
            self._prompt = system, text, sent
        rest = request.messages[1:] if before else request.messages
        return replace(request, messages=[self._prompt[2], *rest])


def _restored(choices: Sequence[Choice], format: OutputFormat) -> list[Choice]:
    """Return the choices with restored texts. One that has calls or several texts is not the answer."""

    def blocks_of(choice: Choice) -> list[Block]:
        texts = [block for block in choice.blocks if isinstance(block, Text)]
        if choice.calls or len(texts) != 1:
            return choice.blocks
        text = replace(texts[0], text=format.restored(texts[0].text))
        return [text if block is texts[0] else block for block in choice.blocks]

    return [replace(choice, blocks=blocks_of(choice)) for choice in choices]


def output_type(output: Any) -> OutputType | None:
    """Return the form for the option ``output``: a type, a JSON schema as a dict, or None.

    Raises InvalidTool for a type that has no JSON schema and for an invalid schema, and MissingExtra.
    """
    if output is None:
        return None
    if isinstance(output, Mapping):
        schema = dict(output)
        check_schema("output", schema)
        return OutputType(schema)
    try:
        type = value_type(output)
        by_name, definitions = schemas({"output": type})
    except TypeError as error:
        raise InvalidTool(f"the type has no JSON schema: {error}", where="output", hint="pass another type") from None
    return OutputType({**by_name["output"], **({"$defs": definitions} if definitions else {})}, type)


def _json_value(text: str) -> Any:
    """Return the JSON value that the text is, or that its code block contains. Raises OutputUnfit."""
    candidates = [text, *_FENCED.findall(text)]
    for candidate in candidates:
        try:
            return json_codec.decode(candidate.strip())
        except ValueError:
            continue
    raise OutputUnfit(["it is not JSON"])
