"""Frameworks for Python, each asked with its model class or as an agent."""

from __future__ import annotations

from ..code import AGENT, URL, Ask, Code, value_calls

_GENERATORS = {"openai.chat": "OpenAIChatGenerator", "openai.responses": "OpenAIResponsesChatGenerator"}


def haystack(ask: Ask) -> Code:
    """Return the code that asks a chat generator of Haystack."""
    name = _GENERATORS.get(ask.wire, "AnthropicChatGenerator")
    imports = ["import os", "from haystack.dataclasses import ChatMessage"]
    packages, lines = ["haystack-ai"], []
    if ask.wire in _GENERATORS:
        lines.append('os.environ["OPENAI_API_KEY"] = "none"')
        imports.append(f"from haystack.components.generators.chat import {name}")
        lines.append(f'generator = {name}(model="m", api_base_url=f"{URL}/v1")')
    else:
        packages.append("anthropic-haystack")
        lines.append(f'os.environ |= {{"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": f"{URL}"}}')
        imports.append(f"from haystack_integrations.components.generators.anthropic import {name}")
        lines.append(f'generator = {name}(model="m", ignore_tools_thinking_messages=False)')
    option = ", streaming_callback=lambda chunk: None" * ask.stream
    lines.append(f'answer = generator.run([ChatMessage.from_user("Hello")]{option})["replies"][0]')
    values = {
        "calls": "[{'id': call.id, 'name': call.tool_name, 'args': call.arguments} for call in answer.tool_calls]",
        "text": "answer.text",
        "stop": '[answer.meta.get("finish_reason"), answer.meta.get("status")]',
        "complete": '[answer.meta.get("finish_reason"), answer.meta.get("status")]',
        "usage": 'answer.meta.get("usage")',
        **value_calls("call.tool_name", "call.arguments", "for call in answer.tool_calls"),
    }
    return Code(packages, imports, lines, values)


def google_adk(ask: Ask) -> Code:
    """Return the code that asks an agent of Google's Agent Development Kit."""
    lines = [
        "class Tool(google.adk.tools.BaseTool):",
        "    def _get_declaration(self): return google.genai.types.FunctionDeclaration(name=self.name)",
        "    async def run_async(self, *, args, tool_context): ran.append([self.name, args])",
        f'model = google.adk.models.Gemini(base_url=f"{URL}", client_kwargs={{"api_key": "none"}})',
        f'tools = [Tool(name=name, description="") for name in {list(ask.tools)}]',
        'agent = google.adk.Agent(name="agent", model=model, tools=tools)',
    ]
    imports = [f"import {name}" for name in ("asyncio", "google.adk.models", "google.adk.runners", "google.adk.tools")]
    config = ""
    if ask.stream:
        imports.append("import google.adk.agents.run_config as configs")
        lines.append("sse = configs.RunConfig(streaming_mode=configs.StreamingMode.SSE)")
        config = ", run_config=sse"
    lines.append(f'asyncio.run(google.adk.runners.InMemoryRunner(agent).run_debug("Hello"{config}))')
    return Code(["google-adk"], imports, lines, AGENT, server="agent")


_STRANDS = {"openai.chat": "openai.OpenAIModel", "openai.responses": "openai_responses.OpenAIResponsesModel"}


def strands(ask: Ask) -> Code:
    """Return the code that asks an agent of Strands Agents."""
    name = _STRANDS.get(ask.wire, "anthropic.AnthropicModel")
    package, path, option = ("openai", "/v1", "") if ask.wire in _STRANDS else ("anthropic", "", ", max_tokens=1024")
    if ask.wire == "openai.chat" and not ask.stream:
        option = ", stream=False"
    lines = [
        "def tool(name):",
        "    async def run(use, **_):",
        "        return ran.append([name, use['input']])"
        " or {'toolUseId': use['toolUseId'], 'status': 'success', 'content': []}",
        '    spec = {"name": name, "description": "A tool.", "inputSchema": {"json": {"type": "object"}}}',
        "    return strands.tools.PythonAgentTool(name, spec, run)",
        f'client = {{"api_key": "none", "base_url": f"{URL}{path}", "max_retries": 0}}',
        f'model = strands.models.{name}(client_args=client, model_id="m"{option})',
        f"strands.Agent(model, tools=[tool(name) for name in {list(ask.tools)}], retry_strategy=None)('Hello')",
    ]
    module = name.partition(".")[0]
    imports = ["import strands", f"import strands.models.{module}", "import strands.tools"]
    return Code([f"strands-agents[{package}]"], imports, lines, AGENT, server="agent")
