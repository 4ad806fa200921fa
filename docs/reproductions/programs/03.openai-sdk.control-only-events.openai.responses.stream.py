# pip install openai==3.57.0
import json
from openai import OpenAI
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("control-only-events.openai.responses.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

client = OpenAI(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0)
with client.responses.stream(model="m", input="Hello") as stream:
    answer = [event.response for event in stream if event.type in ("response.completed", "response.incomplete", "response.failed")][-1]

print(json.dumps({"calls": [item.model_dump(exclude_none=True) for item in answer.output]}, default=str))
# expected: switch_light({"room":"study","on":true})
