"""LiteLLM's proxy server: one model name for each upstream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from toolparity.cassettes.stated import OTHER_MODELS

from ..client import KEY
from ..conversation import Route
from .form import KnownGateway

#: Upstream surface -> the model of LiteLLM with which it speaks this wire, and the end of its base URL.
_MODELS = {
    "openai.chat": ("openai/gpt-5-mini", "/v1"),
    "openai.responses": ("openai/gpt-5-mini", "/v1"),
    "anthropic.messages": ("anthropic/claude-haiku-4-5", ""),
}
_OTHER = ".other"


def _routes(http: str) -> Mapping[str, Sequence[Route]]:
    """Each client wire reaches OpenAI's models on the wire that LiteLLM uses for it."""
    chat, responses, anthropic = (Route(name, name, other=name + _OTHER) for name in _MODELS)
    return {
        "openai.chat": [chat, anthropic],
        "openai.responses": [responses, anthropic],
        "anthropic.messages": [responses, anthropic],
    }


def _configuration(http: str) -> tuple[str, str]:
    lines = ["model_list:"]
    for name, (model, end) in _MODELS.items():
        provider = model.partition("/")[0]
        for alias, each in ((name, model), (name + _OTHER, f"{provider}/{OTHER_MODELS[provider][1]}")):
            settings = f"{{model: {each}, api_base: '{http}{end}', api_key: {KEY}}}"
            lines += [f"  - model_name: {alias}", f"    litellm_params: {settings}"]
    lines += [
        # Without modify_params, a history of another model keeps thinking enabled, which Anthropic then refuses.
        "litellm_settings: {num_retries: 0, request_timeout: 120, telemetry: false, modify_params: true}",
        # Without this setting, an error of the provider in one case makes the proxy refuse requests of later cases.
        "router_settings: {num_retries: 0, disable_cooldowns: true}",
    ]
    return "litellm.yaml", "\n".join(lines) + "\n"


def _command(home: Path, file: Path, port: int) -> list[str]:
    return [str(home / "bin" / "litellm"), "--config", str(file), "--host", "127.0.0.1", "--port", str(port)]


GATEWAY = KnownGateway(
    name="litellm-proxy",
    about="LiteLLM's proxy server",
    installer="pip",
    package="litellm",
    extras="[proxy]",
    version="1.106.2",
    routes=_routes,
    configuration=_configuration,
    command=_command,
    # Version 1.106 does not start without a key for its clients, unless this variable permits it for local use.
    environment={
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_TELEMETRY": "False",
    },
)
