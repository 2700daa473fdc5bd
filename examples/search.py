"""Search with only Python's standard library. Failures raise an exception; they never return an empty list."""

import json
import os
import sys
import urllib.error
import urllib.request
import uuid


class SearchError(Exception):
    def __init__(self, problem: dict) -> None:
        super().__init__(f"{problem['code']}: {problem['detail']}")
        self.problem = problem


def search(query: str, n: int = 5) -> list[dict]:
    request = urllib.request.Request(
        os.environ.get("PENNYBLACK_URL", "http://localhost:8080") + "/v1/search",
        data=json.dumps({"query": query, "n": n}).encode(),
        headers={
            "Authorization": "Bearer " + os.environ["PENNYBLACK_API_KEY"],
            "Content-Type": "application/json",
            "Idempotency-Key": str(uuid.uuid4()),  # retries with the same key are free
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=15) as response:
            return json.load(response)["results"]
    except urllib.error.HTTPError as error:
        raise SearchError(json.load(error)) from error


if __name__ == "__main__":
    for result in search(sys.argv[1] if len(sys.argv) > 1 else "postgresql advisory locks"):
        print(result["title"], result["url"], sep="\n  ")
