# Prints the first call that Pydantic AI's Agent runs of a response: BODY WIRE PROVIDER stream|plain TOOL...
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from pydantic_ai import Agent, Tool

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
for name in ("OPENAI", "ANTHROPIC"):
    os.environ |= {f"{name}_API_KEY": "none", f"{name}_BASE_URL": f"http://127.0.0.1:{server.server_port}"}


def tool(name: str) -> Tool:
    async def run(**arguments: object) -> None:
        print("ran", name, arguments, flush=True)
        os._exit(0)

    return Tool(run, name=name)


async def drain(_: object, events: object) -> None:
    [event async for event in events]


model = {"openai.chat": "openai-chat:m", "openai.responses": "openai-responses:m", "anthropic.messages": "anthropic:m"}[
    wire
]
agent = Agent(model, tools=list(map(tool, names)))
agent.run_sync("Hello", event_stream_handler=drain if mode == "stream" else None)
