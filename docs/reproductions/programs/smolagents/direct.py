"""Prints what smolagents returns for one body: direct.py BODY WIRE PROVIDER stream|plain [TOOLS|-] [STATUS]."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from smolagents import OpenAIModel
from smolagents.models import agglomerate_stream_deltas

body, _, _, mode, _, status = [*sys.argv[1:], *("-", "200")[len(sys.argv) - 5 :]]
kind = "text/event-stream" if mode == "stream" and status == "200" else "application/json"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(int(status))
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(Path(body).read_bytes())


server = HTTPServer(("127.0.0.1", 0), Handler)
Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
model = OpenAIModel("m", api_base=url, api_key="none", client_kwargs={"max_retries": 0}, retry=False)
hello = [{"role": "user", "content": "Hello"}]
try:
    told = agglomerate_stream_deltas(list(model.generate_stream(hello))) if mode == "stream" else model.generate(hello)
    calls = [{"id": c.id, "name": c.function.name, "arguments": c.function.arguments} for c in told.tool_calls or ()]
    counts = told.token_usage and {"input": told.token_usage.input_tokens, "output": told.token_usage.output_tokens}
    print(json.dumps({"calls": calls, "text": told.content, "usage": counts}))
except Exception as error:
    print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
