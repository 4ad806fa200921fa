# pip install openai==3.57.0
import json
from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("tail-under-another-index.openai.chat.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
client = OpenAI(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0)
state = ChatCompletionStreamState()
for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
    state.handle_chunk(chunk)
answer = state.current_completion_snapshot
print(json.dumps({"calls": [choice.message.model_dump(exclude_none=True) for choice in answer.choices]}, default=str))
# expected: dim_light({"room":"hall","level":30}), play_music({"album":"Blue"})
