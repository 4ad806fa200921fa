# pip install haystack-ai==3.4.1
import json, os
from haystack.components.generators.chat import OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("limit-four.openai.responses.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
os.environ["OPENAI_API_KEY"] = "none"
generator = OpenAIResponsesChatGenerator(model="m", api_base_url=f"http://127.0.0.1:{server.server_port}/v1")
answer = generator.run([ChatMessage.from_user("Hello")], streaming_callback=lambda chunk: None)["replies"][0]
print(json.dumps({
    "calls": [{'id': call.id, 'name': call.tool_name, 'args': call.arguments} for call in answer.tool_calls],
}, default=str))
# expected: book_room({"room":"Douro","hour":10}), book_room({"room":"Mondego","hour":10}…om({"room":"Vouga","hour":10})
