#!/usr/bin/env python3
"""The four calls of a device, with the Python standard library: who am I, prove it, join an account, report a location.

Environment:
  CLIENT_ID, DEVELOPER_ID_TOKEN   from the page of your project in the console
  SELVEDGE_URL                    the runtime on this device; default http://127.0.0.1:8083
  SELVEDGE_IDENTITY_URL           the identity service; default http://localhost:8084
"""

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

RUNTIME_URL = os.environ.get("SELVEDGE_URL", "http://127.0.0.1:8083")
IDENTITY_URL = os.environ.get("SELVEDGE_IDENTITY_URL", "http://localhost:8084")
TIMEOUT_SECONDS = 10


def call(method: str, *params: str):
    """Calls a method of the local JSON-RPC API; an error ends the program with its reason and hint."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params) or [""]})
    request = urllib.request.Request(
        RUNTIME_URL + "/jsonrpc/v1", body.encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        answer = json.load(response)
    if "error" in answer:
        sys.exit(f"{method}: {answer['error']['message']} {json.dumps(answer['error'].get('data', {}))}")
    return answer["result"]


def access_token(edge_id_token: str) -> str:
    """Exchanges the tokens of the developer and of the device for an access token."""
    form = {
        "client_id": os.environ["CLIENT_ID"],
        "grant_type": "id_token_signin",
        "id_token": os.environ["DEVELOPER_ID_TOKEN"],
        "scope": "openid edge:account:associate",
        "edge_id_token": edge_id_token,
    }
    try:
        data = urllib.parse.urlencode(form).encode()
        with urllib.request.urlopen(IDENTITY_URL + "/token", data, timeout=TIMEOUT_SECONDS) as response:
            return json.load(response)["access_token"]
    except urllib.error.HTTPError as refused:
        sys.exit(f"the identity service refused: {refused.read().decode()}")


me = call("getMe")
print("node", me["nodeId"])
token = access_token(call("getEdgeIdToken")["id_token"])
print("account", call("associateAccount", token)["accountId"])
# Longitude, latitude (decimal degrees), speed (m/s), bearing (degrees): all as text.
print("location", call("updateGps", token, "-123.115", "49.25", "10.5", "350")["status"])
