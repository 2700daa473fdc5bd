"""The part of httpx that the samples of docs/reference.md use, so that the test needs no package."""

import json as encoder
import urllib.parse
import urllib.request


class Response:
    def __init__(self, text):
        self.text = text

    def json(self):
        return encoder.loads(self.text)

    def raise_for_status(self):
        # urlopen has already raised an error for 4xx and 5xx.
        return self


def request(method, url, *, headers=None, params=None, json=None):
    if params:
        url += "?" + urllib.parse.urlencode(params)
    sent = dict(headers or {})
    body = None
    if json is not None:
        body = encoder.dumps(json).encode()
        sent["Content-Type"] = "application/json"
    with urllib.request.urlopen(urllib.request.Request(url, data=body, headers=sent, method=method)) as answer:
        return Response(answer.read().decode())


def get(url, *, headers=None, params=None):
    return request("GET", url, headers=headers, params=params)


def post(url, *, headers=None, params=None, json=None):
    return request("POST", url, headers=headers, params=params, json=json)


def put(url, *, headers=None, params=None, json=None):
    return request("PUT", url, headers=headers, params=params, json=json)


def patch(url, *, headers=None, params=None, json=None):
    return request("PATCH", url, headers=headers, params=params, json=json)


def delete(url, *, headers=None, params=None):
    return request("DELETE", url, headers=headers, params=params)
