# pip install openai-agents==0.24.0
import asyncio, httpx2, json
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
from agents.tool_context import ToolContext
from openai import AsyncOpenAI

ran, sent, body = [], [], open("constants-that-json-lacks.openai.chat.plain.json", "rb").read()
def provider(request):
    sent.append(request.content)
    headers = {"content-type": "application/json"}
    return httpx2.Response(200 if len(sent) == 1 else 400, headers=headers, content=body)
http = httpx2.AsyncClient(transport=httpx2.MockTransport(provider))
client = AsyncOpenAI(api_key="none", base_url="https://api.openai.com/v1", http_client=http)
def run(context: ToolContext): ran.append([context.tool_name, context.tool_arguments])
tools = [function_tool(run, name_override=name, strict_mode=False) for name in ['set_level']]
agent = Agent("agent", model=OpenAIChatCompletionsModel("m", client), tools=tools)
try: asyncio.run(Runner.run(agent, "Hello"))
except Exception: pass  # the second request fails
print(json.dumps({"ran": ran}, default=str))
# expected: nothing of it runs
