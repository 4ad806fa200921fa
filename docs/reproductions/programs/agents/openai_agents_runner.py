# Prints the first call that the Runner of OpenAI Agents runs of a response: BODY WIRE PROVIDER stream|plain TOOL...
import asyncio
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
from agents.tool_context import ToolContext
from openai import AsyncOpenAI

body, wire, provider, mode, *names = sys.argv[1:]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if mode == "stream" else "application/json")
        self.end_headers()
        self.wfile.write(Path(body).read_bytes())


server = HTTPServer(("127.0.0.1", 0), Handler)
Thread(target=server.serve_forever, daemon=True).start()


async def run(context: ToolContext) -> None:
    print("ran", context.tool_name, context.tool_arguments, flush=True)
    os._exit(0)


async def streamed() -> None:
    [event async for event in Runner.run_streamed(agent, "Hello").stream_events()]


client = AsyncOpenAI(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}", max_retries=0)
model = (OpenAIChatCompletionsModel if wire == "openai.chat" else OpenAIResponsesModel)("m", client)
tools = [function_tool(run, name_override=name, strict_mode=False) for name in names]
agent = Agent("agent", model=model, tools=tools)
asyncio.run(Runner.run(agent, "Hello") if mode == "plain" else streamed())
