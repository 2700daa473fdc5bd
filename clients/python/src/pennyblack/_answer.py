"""The answer to a search, and the budget that searches can share."""

from dataclasses import dataclass
from typing import List, TypedDict

from ._meta import SearchMeta, read_meta
from ._send import ApiResponse


@dataclass(frozen=True)
class SearchResult:
    title: str
    url: str
    #: Untrusted: it comes from the web.
    snippet: str
    #: Hostname of the URL, without a leading `www.`.
    source: str


@dataclass(frozen=True)
class SearchAnswer:
    #: The query that was run.
    query: str
    #: Number of results returned.
    n: int
    results: List[SearchResult]
    meta: SearchMeta


class _RequiredRunBudget(TypedDict):
    id: str
    #: In USD, such as "0.50".
    max: str


class RunBudget(_RequiredRunBudget, total=False):
    """A budget shared by all searches with the same id."""

    #: In seconds. Default: 3,600.
    ttl: int


def read_answer(response: ApiResponse, idempotency_key: str) -> SearchAnswer:
    body = response.body
    names = ("title", "url", "snippet", "source")
    return SearchAnswer(
        query=body.get("query", ""),
        n=body.get("n", 0),
        results=[SearchResult(**{name: result.get(name, "") for name in names}) for result in body["results"]],
        meta=read_meta(response.headers, idempotency_key),
    )
