"""Signs a person in with Authlib, which accepts one algorithm, in two steps: `begin` prints the URL for the browser, `finish` reads the URL of the answer."""

import json
import os
import sys
import urllib.request

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, JsonWebToken
from authlib.oidc.core import CodeIDToken

issuer, client_id, redirect_uri, algorithm, step = sys.argv[1:6]


def fetch(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


metadata = fetch(issuer + "/.well-known/openid-configuration")
client = OAuth2Session(
    client_id,
    redirect_uri=redirect_uri,
    scope="openid offline_access",
    code_challenge_method="S256",
    token_endpoint_auth_method="none",
)

if step == "begin":
    verifier, nonce = generate_token(48), generate_token(20)
    url, state = client.create_authorization_url(
        metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce
    )
    print(json.dumps({"url": url, "state": state, "verifier": verifier, "nonce": nonce}))
else:
    answer, state, verifier, nonce = sys.argv[6:10]
    token = client.fetch_token(
        metadata["token_endpoint"], authorization_response=answer, state=state, code_verifier=verifier
    )
    keys = JsonWebKey.import_key_set(fetch(metadata["jwks_uri"]))
    claims = JsonWebToken([algorithm]).decode(
        token["id_token"],
        keys,
        claims_cls=CodeIDToken,
        claims_options={"iss": {"value": issuer}, "aud": {"value": client_id}},
        claims_params={"nonce": nonce, "client_id": client_id, "access_token": token["access_token"]},
    )
    claims.validate()
    fresh = client.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
    print(
        json.dumps(
            {
                "sub": claims["sub"],
                "nonce": claims["nonce"],
                "email": claims["email"],
                "typ": claims.header["typ"],
                "alg": claims.header["alg"],
                "refreshed": fresh["refresh_token"] != token["refresh_token"],
            }
        )
    )
