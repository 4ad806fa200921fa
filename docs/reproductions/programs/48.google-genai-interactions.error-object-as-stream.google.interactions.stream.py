import json
from google.genai import Client
from google.genai.types import HttpOptions
from threading import Thread
from wsgiref.simple_server import make_server
def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("error-object-as-stream.google.interactions.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
client = Client(api_key="none", http_options=HttpOptions(base_url=f"http://127.0.0.1:{server.server_port}"))
calls, text, ended = {}, "", None
for event in client.interactions.create(model="m", input="", stream=True):
    kind, step, delta = event.event_type, getattr(event, "step", None), getattr(event, "delta", None)
    if step and step.type == "function_call": calls[event.index] = [step.name, ""]
    if delta and delta.type == "arguments_delta": calls[event.index][1] += delta.arguments or ""
    if delta and delta.type == "text": text += delta.text
    if kind == "interaction.completed": ended = event.interaction
print(json.dumps({"stop": ended and ended.status}, default=str))
