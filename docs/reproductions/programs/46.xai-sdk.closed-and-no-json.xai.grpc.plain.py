# pip install xai-sdk==1.21.0
import grpc, json
from concurrent.futures import ThreadPoolExecutor
from google.protobuf.json_format import Parse
from xai_sdk import Client
from xai_sdk.chat import user
from xai_sdk.proto import chat_pb2, chat_pb2_grpc
class Provider(chat_pb2_grpc.ChatServicer):
    def GetCompletion(self, request, context):
        return Parse(open("closed-and-no-json.xai.grpc.plain.jsonl").read(), chat_pb2.GetChatCompletionResponse())
server = grpc.server(ThreadPoolExecutor())
chat_pb2_grpc.add_ChatServicer_to_server(Provider(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
client = Client(api_key="none", api_host=f"127.0.0.1:{port}", use_insecure_channel=True)
chat = client.chat.create(model="m", messages=[user("Hello")])
answer = chat.sample()
print(json.dumps({
    "calls": [[call.function.name, call.function.arguments, call.type] for call in answer.tool_calls],
}, default=str))
