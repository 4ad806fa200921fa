# Prints the first call that LangGraph's agent runs of a response: BODY WIRE PROVIDER stream|plain TOOL...
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langchain_xai import ChatXAI

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


def tool(name: str) -> StructuredTool:
    def run(**arguments: object) -> None:
        print("ran", name, arguments, flush=True)
        os._exit(0)

    return StructuredTool.from_function(run, name=name, description=name, args_schema={"type": "object"})


options = {"model": "m", "api_key": "none", "base_url": f"http://127.0.0.1:{server.server_port}", "max_retries": 0}
model = {"anthropic": ChatAnthropic, "openai": ChatOpenAI, "xai": ChatXAI}[provider]
chosen = {"use_responses_api": True} if wire == "openai.responses" else {}
agent, hello = create_agent(model(**options, **chosen), list(map(tool, names))), {"messages": [("user", "Hello")]}
agent.invoke(hello) if mode == "plain" else list(agent.stream(hello, stream_mode="messages"))
