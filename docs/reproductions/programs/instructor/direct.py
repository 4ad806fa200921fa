"""Prints the objects that Instructor returns for one response body: one of a caller's type for each call."""

import json
import re
import sys
from functools import reduce
from operator import or_
from pathlib import Path
from types import GenericAlias

sys.path.insert(0, str(Path(__file__).parents[1]))
from collections.abc import Iterable

import instructor
import loopback as given
from anthropic import Anthropic
from openai import OpenAI
from pydantic import BaseModel, ConfigDict, create_model

sdk = Anthropic if given.provider == "anthropic" else OpenAI
connect = instructor.from_anthropic if given.provider == "anthropic" else instructor.from_openai
base = given.url if given.provider == "anthropic" else f"{given.url}/v1"
client = connect(sdk(api_key="none", base_url=base, max_retries=0), mode=instructor.Mode.PARALLEL_TOOLS)
Arguments = type("Arguments", (BaseModel,), {"model_config": ConfigDict(extra="allow")})
written = re.findall(rb'"name"\s*:\s*("(?:[^"\\]|\\.)*")', Path(given.body).read_bytes())
names = dict.fromkeys(given.declared or [json.loads(name) for name in written])
types = [create_model(name, __base__=Arguments, __doc__="A tool.") for name in names]


def create():
    wanted = GenericAlias(Iterable, (reduce(or_, types),))
    arguments = {"model": "model", "max_tokens": 1024, "max_retries": 0, "response_model": wanted}
    objects = client.create(messages=[{"role": "user", "content": "Hello"}], **arguments)
    return {"calls": [{"name": type(one).__name__, "arguments": one.model_dump()} for one in objects]}


given.show(create if types else lambda: {"calls": []})
