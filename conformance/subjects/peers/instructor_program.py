"""Instructor: create() with parallel tools, which returns an object of one of the caller's types for each call.

Only calls are tested; streams are not claimed, because they cover the arguments of a single call. A tool is a type
here, so the caller must know all names: if a case declares no tools, every name in the response is declared.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Any

from program import Loopback, serve  # type: ignore[import-not-found]  # isort: skip
from scope import custom_tools, invalid_arguments, legacy_call, several_choices  # type: ignore[import-not-found]  # isort: skip

import instructor  # type: ignore[import-not-found,unused-ignore]
from anthropic import Anthropic
from openai import OpenAI
from pydantic import BaseModel, ConfigDict, create_model

_NAME = re.compile(rb'"name"\s*:\s*("(?:[^"\\]|\\.)*")')
_CLIENTS: dict[str, Any] = {}


class Arguments(BaseModel):
    """A tool type that accepts any arguments, because validating them is not tested."""

    model_config = ConfigDict(extra="allow")


def types(ask: dict[str, Any]) -> list[type[Arguments]]:
    """Return a type for each tool."""
    declared = [(tool.get("function") or tool).get("name") for tool in ask["tools"]]
    body = b"".join(map(base64.b64decode, ask["pieces"]))
    names = [name for name in declared if name] or [json.loads(name) for name in _NAME.findall(body)]
    return [create_model(name, __base__=Arguments, __doc__="A tool.") for name in dict.fromkeys(names)]


def client(wire: str, server: Loopback) -> Any:
    """Return the client around the official SDK's client."""
    if wire not in _CLIENTS:
        if wire == "anthropic.messages":
            claude = Anthropic(api_key="none", base_url=server.url, max_retries=0)
            _CLIENTS[wire] = instructor.from_anthropic(claude, mode=instructor.Mode.PARALLEL_TOOLS)
        else:
            gpt = OpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0)
            _CLIENTS[wire] = instructor.from_openai(gpt, mode=instructor.Mode.PARALLEL_TOOLS)
    return _CLIENTS[wire]


def read(ask: dict[str, Any], server: Loopback) -> dict[str, Any]:
    """Return the calls as its objects represent them: the type's name and the members."""
    if several_choices(ask):
        return {"unsupported": "create() of instructor returns the objects of one choice"}
    if custom_tools(ask):
        return {"unsupported": "a tool of instructor is a type, which is a function: custom tools cannot be declared"}
    if legacy_call(ask):
        return {"unsupported": "create() with parallel tools declares tools: function_call does not answer it"}
    if invalid_arguments(ask):
        return {"unsupported": "create() of instructor documents that it raises an error for invalid arguments"}
    known = types(ask)
    if not known:
        return {"calls": []}  # create() needs at least one type
    objects = client(ask["wire"], server).create(
        model="model",
        max_tokens=1024,
        max_retries=0,
        messages=[{"role": "user", "content": "Hello"}],
        response_model=GenericAlias(Iterable, (reduce(or_, known),)),
    )
    return {"calls": [{"name": type(one).__name__, "arguments": one.model_dump()} for one in objects]}


serve("instructor", "instructor", [], ["openai.chat", "anthropic.messages"], read, providers=["openai", "anthropic"])
