"""A stub as it is generated, an interceptor, and errors that are wrapped."""

import json

import grpc
from orders import TARGET


class Message(dict):
    def SerializeToString(self):
        return json.dumps(self).encode()

    @classmethod
    def FromString(cls, data):
        return cls(json.loads(data))


class OrdersStub:  # as grpcio-tools writes it
    def __init__(self, channel):
        self.Unary = channel.unary_unary(
            "/shop.Orders/Unary",
            request_serializer=Message.SerializeToString,
            response_deserializer=Message.FromString,
            _registered_method=True,
        )


class Headers(grpc.UnaryUnaryClientInterceptor):
    def intercept_unary_unary(self, continuation, details, request):
        seen.append(details.method)
        metadata = [*(details.metadata or ()), ("x-goog-api-client", "gl-python/3")]
        return continuation(details._replace(metadata=metadata), request)


def wrapped(call):  # as google.api_core.grpc_helpers wraps a method
    def invoke(*args, **kwargs):
        try:
            return call(*args, **kwargs)
        except grpc.RpcError as error:
            raise LookupError(error.code().name, error.details()) from error

    return invoke


seen = []
channel = grpc.intercept_channel(grpc.insecure_channel(TARGET), Headers())
get = wrapped(OrdersStub(channel).Unary)
print(type(get(Message(order="A-1"))), get(Message(order="A-1"), timeout=30)["order"], seen)
broken = wrapped(grpc.insecure_channel(TARGET).unary_unary("/shop.Orders/Unary", response_deserializer=json.loads))
for request in (b"fail", b"not json"):
    try:
        print(broken(request))
    except LookupError as error:
        print(error.args)
