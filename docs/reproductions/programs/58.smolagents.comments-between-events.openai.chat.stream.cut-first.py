# pip install smolagents[openai]==1.26.0
import json
from smolagents import OpenAIModel
from smolagents.models import agglomerate_stream_deltas
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("comments-between-events.openai.chat.stream.cut-first.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

options = {"api_key": "none", "client_kwargs": {"max_retries": 0}, "retry": False}
model = OpenAIModel("m", api_base=f"http://127.0.0.1:{server.server_port}/v1", **options)
messages = [{"role": "user", "content": "Hello"}]
answer = agglomerate_stream_deltas(list(model.generate_stream(messages)))
print(json.dumps({"answer": answer}, default=str))
# expected: an error, or values that show that the stream broke
