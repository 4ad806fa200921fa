# pip install pydantic-ai-slim[xai]==2.68.0
import grpc, json, pydantic_ai.models.xai as models, pydantic_ai.providers.xai as providers, xai_sdk
from concurrent.futures import ThreadPoolExecutor
from google.protobuf.json_format import Parse
from pydantic_ai.direct import messages, model_request_stream_sync
from xai_sdk.proto import chat_pb2, chat_pb2_grpc
class Provider(chat_pb2_grpc.ChatServicer):
    def GetCompletionChunk(self, request, context):
        for line in open("code-then-call.xai.grpc.stream.cut-first.jsonl"):
            yield Parse(line, chat_pb2.GetChatCompletionChunk())
server = grpc.server(ThreadPoolExecutor())
chat_pb2_grpc.add_ChatServicer_to_server(Provider(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
client = xai_sdk.AsyncClient(api_key="none", api_host=f"127.0.0.1:{port}", use_insecure_channel=True)
model = models.XaiModel("m", provider=providers.XaiProvider(xai_client=client))
with model_request_stream_sync(model, [messages.ModelRequest.user_text_prompt("Hello")]) as stream:
    events, answer = list(stream), stream.response
print(json.dumps({"stop": [answer.finish_reason, answer.provider_details], "complete": answer.state}, default=str))
# expected: an error, or values that show that the stream broke
