"""Calls the gateway with gRPC's own C-core library, and prints what came back as JSON. Arguments: target, token or "", service."""
import json
import sys
import time

import grpc

target, token, service = sys.argv[1:4]
metadata = [("selvedge-service", service)] + ([("authorization", "Bearer " + token)] if token else [])
channel = grpc.insecure_channel(target, options=[("grpc.enable_retries", 0)])
limit = 60


def outcome(call):
    try:
        return call()
    except grpc.RpcError as error:
        return [error.code().name, error.details()]


def unary(name, message, timeout=limit):
    return channel.unary_unary("/test.Echo/" + name)(message, metadata=metadata, timeout=timeout).decode()


def with_trailers():
    call = channel.unary_unary("/test.Echo/Unary").with_call
    answer, info = call(b"hello", metadata=metadata, timeout=limit)
    trailers = dict(info.trailing_metadata())
    return [answer.decode(), trailers.get("x-late"), list(trailers.get("x-bin-bin", b""))]


def collect():
    stream = channel.stream_unary("/test.Echo/Collect")
    return stream(iter([b"a", b"b", b"c" * 100000]), metadata=metadata, timeout=limit).decode()[:6]


def count():
    stream = channel.unary_stream("/test.Echo/Count")
    return len(list(stream(b"2000", metadata=metadata, timeout=limit)))


def chat():
    """Each message is sent when the answer to the one before has come; the first one when the head has."""
    answers = []

    def requests():
        yield b"one"
        while len(answers) < 1:
            time.sleep(0.005)
        yield b"two"

    call = channel.stream_stream("/test.Echo/Chat")(requests(), metadata=metadata, timeout=limit)
    first = dict(call.initial_metadata()).get("x-first")
    for each in call:
        answers.append(each.decode())
    return [first, answers]


def cancel():
    call = channel.unary_unary("/test.Echo/Wait").future(b"cancelled", metadata=metadata, timeout=limit)
    until(lambda began, _: "cancelled" in began)
    call.cancel()
    return call.code().name


def until(isReached):
    """Waits for what the server knows of the calls that wait."""
    while True:
        began, ended = (sorted(filter(None, each.split(","))) for each in unary("Waits", b"").split(";"))
        if isReached(began, ended):
            return began
        time.sleep(0.02)


results = {
    "unary": outcome(with_trailers),
    "collect": outcome(collect),
    "count": outcome(count),
    "chat": outcome(chat),
    "fail": outcome(lambda: unary("Fail", b"")),
    "missing": outcome(lambda: unary("Missing", b"")),
}
if results["unary"][0].startswith("unary"):
    results["remaining"] = 50 < int(unary("Deadline", b"", 60)) <= 60
    results["deadline"] = outcome(lambda: unary("Wait", b"late", 0.5))[0]
    results["cancel"] = cancel()
    results["missed"] = "cancelled" in until(lambda began, ended: began == ended)
print(json.dumps(results))
