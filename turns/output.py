"""The type of a turn's final answer: a Python type or a JSON schema, which the answer must fit as JSON.

The schema is a part of the instructions, so that every model and wire supports it. A model that answers otherwise gets
the problems and is asked again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer import json_codec

from .errors import InvalidTool, OutputUnfit
from .execution.typed.value_types import ValueType, problems, schemas, value_type
from .execution.validation import check_schema
from .execution.validation import problems as schema_problems
from .request import RequestOptions

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_INSTRUCTIONS = "Your final answer must be one JSON value that fits this JSON schema, without any other text:\n{schema}"
_CORRECTION = (
    "Your answer does not fit the JSON schema: {problems}. Answer again, with one JSON value that fits the schema, and "
    "without any other text."
)


class OutputType(Struct, frozen=True):
    """The required form of an answer. ``type``: to which the JSON value is converted, None to keep the value."""

    schema: dict[str, Any]
    type: ValueType | None = None

    @property
    def instructions(self) -> str:
        """The text for the system prompt."""
        return _INSTRUCTIONS.format(schema=json_codec.text(self.schema))

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


def with_output(options: RequestOptions, output: OutputType | None) -> RequestOptions:
    """Return the options with the required form of the answer in the instructions."""
    return replace(options, form=output.instructions) if output is not None else options


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
