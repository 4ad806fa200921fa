# Prints what Pydantic AI's Agent runs of a response, and its requests: BODY WIRE PROVIDER stream|plain TOOL...
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from pydantic_ai import Agent, Tool

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


def tool(name: str) -> Tool:
    async def run(**arguments: object) -> None:
        print("ran", name, arguments, flush=True)

    return Tool(run, name=name)


async def drain(_: object, events: object) -> None:
    [event async for event in events]


server = HTTPServer(("127.0.0.1", 0), Handler)
Thread(target=server.serve_forever, daemon=True).start()
key, url = f"{provider.upper()}_API_KEY", f"{provider.upper()}_BASE_URL"
os.environ |= {key: "none", url: f"http://127.0.0.1:{server.server_port}"}
maker = {"openai.chat": "openai-chat", "openai.responses": "openai-responses", "anthropic.messages": "anthropic"}[wire]
agent = Agent(f"{maker}:m", tools=list(map(tool, names)))
agent.run_sync("Hello", event_stream_handler=drain if mode == "stream" else None)
