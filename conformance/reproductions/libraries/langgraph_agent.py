"""The agent of LangChain, which LangGraph runs."""

from __future__ import annotations

from ..code import AGENT, URL, Ask, Code

_PACKAGES = {"openai": "langchain-openai", "anthropic": "langchain-anthropic", "xai": "langchain-xai"}


def code(ask: Ask) -> Code:
    """Return the code that asks this library."""
    provider = ask.provider if ask.provider in _PACKAGES else "openai"
    responses = ", use_responses_api=True" * (ask.wire == "openai.responses")
    question = '{"messages": "Hello"}'
    lines = [f'url = f"{URL}"']
    for number, name in enumerate(ask.tools):
        lines += [
            f'@langchain.tools.tool("{name}", description="A tool.", args_schema={{"type": "object"}})',
            f'def tool_{number}(**arguments): ran.append(["{name}", arguments])',
        ]
    lines += [
        f'model = langchain.chat_models.init_chat_model("{provider}:m", base_url=url, api_key="none"{responses})',
        f"agent = langchain.agents.create_agent(model, [{', '.join(f'tool_{n}' for n in range(len(ask.tools)))}])",
        f'list(agent.stream({question}, stream_mode="messages"))' if ask.stream else f"agent.invoke({question})",
    ]
    imports = ["import langchain.agents", "import langchain.chat_models", "import langchain.tools"]
    return Code(["langgraph", "langchain", _PACKAGES[provider]], imports, lines, AGENT, server="agent")
