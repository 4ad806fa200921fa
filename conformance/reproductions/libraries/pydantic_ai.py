"""Pydantic AI's models."""

from __future__ import annotations

from ..code import URL, Ask, Code, value_calls

_VALUES = {
    "calls": "[[part.tool_name, part.args] for part in answer.tool_calls]",
    "text": "answer.text",
    "stop": "[answer.finish_reason, answer.provider_details]",
    "complete": "answer.state",
    "usage": "vars(answer.usage)",
    **value_calls("part.tool_name", "part.args_as_dict()", "for part in answer.tool_calls"),
}
#: Wire -> the extra, which is the name of the provider, the model's name, and the path of the address.
MODELS = {
    "openai.chat": ("openai", '"openai-chat:m"', "/v1"),
    "openai.responses": ("openai", '"openai-responses:m"', "/v1"),
    "anthropic.messages": ("anthropic", '"anthropic:m"', ""),
    "xai.grpc": ("xai", "model", ""),
}


def settings(extra: str, path: str) -> str:
    """Return the line that sets the key and the address of a provider."""
    return f'os.environ |= {{"{extra.upper()}_API_KEY": "none", "{extra.upper()}_BASE_URL": f"{URL}{path}"}}'


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    extra, model, path = MODELS[ask.wire]
    function = f"model_request{'_stream' * ask.stream}_sync"
    imports = [f"from pydantic_ai.direct import messages, {function}"]
    if ask.wire == "xai.grpc":
        imports += [
            "import pydantic_ai.models.xai as models",
            "import pydantic_ai.providers.xai as providers",
            "import xai_sdk",
        ]
        lines = [
            'client = xai_sdk.AsyncClient(api_key="none", api_host=f"127.0.0.1:{port}", use_insecure_channel=True)',
            'model = models.XaiModel("m", provider=providers.XaiProvider(xai_client=client))',
        ]
    else:
        imports.append("import os")
        lines = [settings(extra, path)]
    call = f'{function}({model}, [messages.ModelRequest.user_text_prompt("Hello")])'
    if ask.stream:
        lines += [f"with {call} as stream:", "    events, answer = list(stream), stream.response"]
    else:
        lines += [f"answer = {call}"]
    return Code([f"pydantic-ai-slim[{extra}]"], imports, lines, _VALUES, "grpc" if extra == "xai" else "http")
