"""LangChain's chat models."""

from __future__ import annotations

from ..code import URL, Ask, Code, value_calls

_VALUES = {
    "calls": "answer.tool_calls",
    "text": "answer.text",
    "stop": "answer.response_metadata",
    "usage": "answer.usage_metadata",
    **value_calls('call["name"]', 'call["args"]', "for call in answer.tool_calls"),
    "names": '[call["name"] for call in answer.tool_calls + answer.invalid_tool_calls]',
}
#: Provider -> the distribution, its class, the path of its address, and an argument of the class.
_MODELS = {
    "openai": ("langchain-openai", "ChatOpenAI", "/v1", "stream_usage=True"),
    "anthropic": ("langchain-anthropic", "ChatAnthropic", "", "max_tokens=1024"),
    "xai": ("langchain-xai", "ChatXAI", "/v1", "max_retries=0"),
}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    package, name, path, options = _MODELS.get(ask.provider, _MODELS["openai"])
    if ask.wire == "openai.responses":
        options += ", use_responses_api=True"
    lines = [f'url = f"{URL}{path}"', f'model = {name}(model="m", api_key="none", base_url=url, {options})']
    imports = [f"from {package.replace('-', '_')} import {name}"]
    if ask.stream:
        imports = ["from functools import reduce", "from operator import add", *imports]
        lines += ['answer = reduce(add, model.stream("Hello"))']
    else:
        lines += ['answer = model.invoke("Hello")']
    return Code(["langchain-core", package], imports, lines, _VALUES)
