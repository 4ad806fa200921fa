"""Defaults of parameters that are objects with a default inside: `pydantic.Field`, and those of other libraries.

def search(town: str, limit: int = pydantic.Field(5, ge=1)): ...      # without an argument, ``limit`` is 5
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec

from ...errors import InvalidTool

#: Types of objects that are a default only inside a class.
_MEMBERS = (dataclasses.Field, type(msgspec.field()))


def field_of(tool: str, parameter: inspect.Parameter) -> Any:
    """Return the `pydantic.Field` that is the default of a parameter, None for another default.

    Raises InvalidTool for the field of another library, which would be the value of the parameter.
    """
    fields = sys.modules.get("pydantic.fields")  # imported if a parameter has one
    if fields is not None and isinstance(parameter.default, fields.FieldInfo):
        return parameter.default
    if isinstance(parameter.default, _MEMBERS):
        what = f"the default of its parameter {parameter.name!r} is a field of a class: {parameter.default!r:.100}"
        raise InvalidTool(what, where=tool, hint="pass the value itself, or pydantic.Field(default)")
    return None


def with_field(
    tool: str, parameter: inspect.Parameter, annotation: Any, field: Any
) -> tuple[inspect.Parameter, Any, Callable[[], Any] | None]:
    """Return the parameter with the default of its field, the annotation with the field as metadata, and the function
    that returns a new default, None if the parameter is required.

    Raises InvalidTool if the default depends on other values.
    """
    annotated = Annotated[annotation, field]
    if field.is_required():
        return parameter.replace(default=parameter.empty), annotated, None
    default = partial(field.get_default, call_default_factory=True)
    try:
        return parameter.replace(default=default()), annotated, default
    except Exception as error:
        what = f"the default of its parameter {parameter.name!r} cannot be made: {error}"
        raise InvalidTool(what, where=tool, hint="pass a factory without parameters") from None
