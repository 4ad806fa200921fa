"""Instructor with parallel tools: it returns an object of a class for each call."""

from __future__ import annotations

from ..code import URL, Ask, Code, value_calls

_SDKS = {"anthropic": ("anthropic", "Anthropic", ""), "openai": ("openai", "OpenAI", "/v1")}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    module, sdk, path = _SDKS.get(ask.provider, _SDKS["openai"])
    imports = [
        "from collections.abc import Iterable",
        "import instructor",
        f"from {module} import {sdk}",
        "from pydantic import ConfigDict, create_model",
    ]
    lines = [
        f'client = {sdk}(api_key="none", base_url=f"{URL}{path}", max_retries=0)',
        f"client = instructor.from_{module}(client, mode=instructor.Mode.PARALLEL_TOOLS)",
        *(
            f'{name} = create_model("{name}", __config__=ConfigDict(extra="allow"), __doc__="A tool.")'
            for name in ask.tools
        ),
        'request = {"model": "m", "max_tokens": 1024, "messages": [{"role": "user", "content": "Hello"}]}',
        f"answer = client.create(response_model=Iterable[{' | '.join(ask.tools)}], max_retries=0, **request)",
    ]
    values = {
        "calls": "[[type(call).__name__, call.model_dump()] for call in answer]",
        **value_calls("type(call).__name__", "call.model_dump()", "for call in answer"),
    }
    return Code(["instructor", module], imports, lines, values)
