# Prints what LangGraph's agent runs of a response, and its requests: BODY WIRE PROVIDER stream|plain TOOL...
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.tools import StructuredTool

body, wire, provider, mode, *names = sys.argv[1:]
later = iter([False, True])


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        print("sent", self.rfile.read(int(self.headers["content-length"])).decode(), flush=True)
        if next(later):
            os._exit(0)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if mode == "stream" else "application/json")
        self.end_headers()
        self.wfile.write(Path(body).read_bytes())


def tool(name: str) -> StructuredTool:
    def run(**arguments: object) -> None:
        print(f"ran {name} {arguments}\n", end="", flush=True)  # tools run in threads

    return StructuredTool.from_function(run, name=name, description=name, args_schema={"type": "object"})


server = HTTPServer(("127.0.0.1", 0), Handler)
Thread(target=server.serve_forever, daemon=True).start()
options = {"api_key": "none", "base_url": f"http://127.0.0.1:{server.server_port}", "max_retries": 0}
api = {"use_responses_api": True} if wire == "openai.responses" else {}
agent = create_agent(init_chat_model("m", model_provider=provider, **options, **api), list(map(tool, names)))
chosen = "messages" if mode == "stream" else "values"  # messages are streamed from the model
list(agent.stream({"messages": [("user", "Hello")]}, stream_mode=chosen))
