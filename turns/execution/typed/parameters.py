"""The parameters of a function as a JSON schema, and the arguments of a call as the types that it declares.

typed = typed_parameters("weather", weather)
typed.schema                            # {"type": "object", "properties": {"city": …}, …}
values = typed.convert(arguments)       # keyword arguments for the function
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

from msgspec import Struct

from ...errors import InvalidTool
from .callables import annotation_of, signature_of
from .docstrings import parameter_descriptions
from .field_defaults import field_of, with_field
from .injection import Injections, injections
from .value_types import MsgspecType, ValueType, problems, schemas, value_type

_EXPLICIT = "pass parameters= with the JSON schema"


class ArgumentsDoNotFit(ValueError):
    """Arguments cannot be converted to the declared types. ``problems``: the reasons, at least one."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class TypedParameters(Struct, frozen=True):
    """The parameters of ``function``. ``schema``: their JSON schema, None if it takes no named ones.

    ``types``: by parameter. ``rest``: the type of ``**arguments``, None if the function has none. ``injections``: the
    parameters that receive no arguments. ``defaults``: for the parameters whose default is a `pydantic.Field`, the
    functions that return its value.
    """

    function: Callable[..., Any]
    schema: dict[str, Any] | None
    types: dict[str, ValueType]
    rest: ValueType | None
    injections: Injections
    defaults: dict[str, Callable[[], Any]] = {}

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return new values of the declared types for the arguments of a call. Raises ArgumentsDoNotFit."""
        values: dict[str, Any] = {}
        unfit: list[str] = []
        for name, argument in arguments.items():
            type = self.types.get(name, self.rest)
            if type is None or name in self.injections.names:
                unfit.append(f"{name}: not a parameter")
                continue
            try:
                values[name] = type.convert(copy.deepcopy(argument))
            except Exception as error:  # a validator of the type can raise anything
                unfit += [f"{name}: {problem}" for problem in problems(error)]
        if unfit:
            raise ArgumentsDoNotFit(unfit)
        return {name: default() for name, default in self.defaults.items() if name not in values} | values


def typed_parameters(tool: str, function: Callable[..., Any]) -> TypedParameters:
    """Derive the parameters of a tool from its function: annotations, defaults and docstring.

    Raises InvalidTool, with the name of the tool and the parameter, for a signature that no schema expresses, and
    MissingExtra if the function has a docstring and docstring_parser is not installed.
    """
    signature = signature_of(function)
    if signature is None:
        raise InvalidTool(f"the signature of its function {function!r} cannot be read", where=tool, hint=_EXPLICIT)
    bound = function.keywords if isinstance(function, functools.partial) else {}
    parameters = {name: found for name, found in signature.parameters.items() if name not in bound}
    rest = next((found for found in parameters.values() if found.kind is found.VAR_KEYWORD), None)
    named = {name: found for name, found in parameters.items() if found is not rest}
    annotations = {name: _annotation(tool, function, parameter) for name, parameter in named.items()}
    injected = injections(annotations)
    named = {name: found for name, found in named.items() if name not in injected.names}
    defaults: dict[str, Callable[[], Any]] = {}
    for name, parameter in named.items():
        field = field_of(tool, parameter)
        if field is not None:
            named[name], annotations[name], default = with_field(tool, parameter, annotations[name], field)
            defaults |= {name: default} if default is not None else {}
    types = {name: _type(tool, name, annotations[name]) for name in named}
    rest_type = _rest_type(tool, function, rest) if rest is not None else None
    schema = _schema(tool, function, named, annotations, types, rest, rest_type) if types or _is_typed(rest) else None
    return TypedParameters(function, schema, types, rest_type, injected, defaults)


def _annotation(tool: str, function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the annotation of a parameter that the model can pass. Raises InvalidTool."""
    if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        what = f"its parameter '{stars}{parameter.name}' is passed by position only"
        raise InvalidTool(f"{what}, and arguments come as keywords", where=tool, hint="let it take keywords")
    return annotation_of(tool, function, parameter)


def _is_typed(rest: inspect.Parameter | None) -> bool:
    return rest is not None and rest.annotation is not rest.empty


def _rest_type(tool: str, function: Callable[..., Any], rest: inspect.Parameter) -> ValueType:
    return _type(tool, rest.name, annotation_of(tool, function, rest)) if _is_typed(rest) else MsgspecType(Any)


def _type(tool: str, name: str, annotation: Any) -> ValueType:
    try:
        return value_type(annotation)
    except TypeError as error:
        what = f"the type of its parameter {name!r} cannot be expressed: {error}"
        raise InvalidTool(what, where=tool, hint=f"declare another type, or {_EXPLICIT}") from None


def _schema(
    tool: str,
    function: Callable[..., Any],
    named: Mapping[str, inspect.Parameter],
    annotations: Mapping[str, Any],
    types: Mapping[str, ValueType],
    rest: inspect.Parameter | None,
    rest_type: ValueType | None,
) -> dict[str, Any]:
    typed_rest = {rest.name: rest_type} if rest is not None and rest_type is not None and _is_typed(rest) else {}
    try:
        by_name, definitions = schemas({**types, **typed_rest})
    except TypeError as error:
        raise InvalidTool(f"its parameters cannot be expressed: {error}", where=tool, hint=_EXPLICIT) from None
    texts = parameter_descriptions(function)
    properties = {}
    for name, parameter in named.items():
        text = _description(annotations[name]) or texts.get(name)
        properties[name] = {
            **({"description": text} if text else {}),
            **by_name[name],
            **_default(parameter, types[name]),
        }
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [name for name, parameter in named.items() if parameter.default is parameter.empty]
    if required:
        schema["required"] = required
    if rest is None:
        schema["additionalProperties"] = False
    elif typed_rest:
        schema["additionalProperties"] = by_name[rest.name]
    if definitions:
        schema["$defs"] = definitions
    return schema


def _description(annotation: Any) -> str | None:
    """Return the text in the metadata of an annotation: a string, or an object with ``documentation`` (PEP 727)."""
    if get_origin(annotation) is not Annotated:
        return None
    texts = [getattr(value, "documentation", value) for value in get_args(annotation)[1:]]
    return next((text for text in texts if isinstance(text, str)), None)


def _default(parameter: inspect.Parameter, type: ValueType) -> dict[str, Any]:
    """Return the keyword ``default``, empty without a default, or one that the model cannot pass."""
    if parameter.default is parameter.empty:
        return {}
    try:
        dumped = type.dump(parameter.default)
        type.convert(copy.deepcopy(dumped))
    except Exception:  # a sentinel, or None for a type without None
        return {}
    return {"default": dumped}
