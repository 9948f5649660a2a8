"""A server of gRPC's own C-core library. Messages are texts: no generated code is needed. Prints its port; ends with its input."""
import sys
import threading
from concurrent import futures

import grpc

began = []
ended = []


def unary(request, context):
    context.set_trailing_metadata((("x-late", "trailer"), ("x-bin-bin", b"\x00\xff")))
    metadata = dict(context.invocation_metadata())
    return b"unary %s account=%s" % (request, metadata.get("x-selvedge-account", "").encode())


def collect(requests, context):
    return b",".join(requests)


def count(request, context):
    for at in range(int(request)):
        yield b"%d" % at


def chat(requests, context):
    context.send_initial_metadata((("x-first", "now"),))
    for each in requests:
        yield b"<" + each + b">"


def fail(request, context):
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not yet: caf\u00e9, 100%")


def wait(request, context):
    """Waits until its caller has gone, and notes it."""
    gone = threading.Event()
    context.add_callback(gone.set)
    began.append(request)
    gone.wait()
    ended.append(request)
    return b""


def deadline(request, context):
    return b"%d" % (context.time_remaining() or 0)


def waits(request, context):
    """The calls that wait, or have waited, and those of them with a caller that has gone."""
    return b",".join(began) + b";" + b",".join(ended)


def health(request, context):
    return bytes([8, 1])


def handler(kind, function):
    same = lambda each: each
    return getattr(grpc, kind + "_rpc_method_handler")(function, same, same)


server = grpc.server(futures.ThreadPoolExecutor(16))
server.add_generic_rpc_handlers(
    (
        grpc.method_handlers_generic_handler(
            "test.Echo",
            {
                "Unary": handler("unary_unary", unary),
                "Collect": handler("stream_unary", collect),
                "Count": handler("unary_stream", count),
                "Chat": handler("stream_stream", chat),
                "Fail": handler("unary_unary", fail),
                "Wait": handler("unary_unary", wait),
                "Deadline": handler("unary_unary", deadline),
                "Waits": handler("unary_unary", waits),
            },
        ),
        grpc.method_handlers_generic_handler(
            "grpc.health.v1.Health", {"Check": handler("unary_unary", health)}
        ),
    )
)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
sys.stdin.read()
server.stop(None)
