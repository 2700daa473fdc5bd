"""Metadata from the response headers of a search. Amounts are decimal strings in USD."""

import re
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional


@dataclass(frozen=True)
class RateLimit:
    limit: int
    remaining: int
    reset_seconds: int


@dataclass(frozen=True)
class RunMeta:
    id: str
    spent: str
    left: str


@dataclass(frozen=True)
class BudgetMeta:
    #: "total", "day", "week" or "month".
    period: str
    spent: str
    left: str
    #: None for the total, which does not reset.
    reset_seconds: Optional[int]
    #: The id of a shared budget. None for the key's own limits.
    budget_id: Optional[str] = None


@dataclass(frozen=True)
class EndUserBudget:
    spent: str
    left: str
    reset_seconds: int


@dataclass(frozen=True)
class RankList:
    """A published list of domains."""

    name: str
    url: str


@dataclass(frozen=True)
class RankExplanation:
    """Why a result is ranked where it is."""

    #: The position of the result, from 1.
    position: int
    #: Its position in the response of the search provider, from 1.
    upstream_rank: int
    #: From "A", primary sources, to "E", the lowest. "N": not listed by any rule.
    tier: str
    #: The rule that assigned the tier, such as "government" or "unlisted".
    reason: str
    #: The published list that the tier comes from. None for hand-written rules.
    list: Optional[RankList]
    score: float
    #: Guards that changed the position.
    guards: List[str]


@dataclass(frozen=True)
class SearchMeta:
    request_id: str
    #: The price charged for this response. "0.00" for a replay, because an earlier attempt was charged.
    charge: str
    #: Only for keys with the `wallet:read` scope.
    balance: Optional[str]
    #: Whether this is the stored response to an earlier search with the same Idempotency-Key.
    replayed: bool
    idempotency_key: str
    #: The number of search providers queried.
    upstreams: Optional[int]
    #: The number of results removed by the source policy of the key. None without a policy.
    filtered: Optional[int]
    #: The ranking rules applied, such as "programming@3".
    lens: Optional[str]
    #: Why each result is ranked where it is. Only with `explain=True`.
    explanation: Optional[List[RankExplanation]]
    rate_limit: Optional[RateLimit]
    #: How much of the run's budget is spent and left, including this search. Only with `run`.
    run: Optional[RunMeta]
    #: The same for each limit of the key's budget. Empty without a budget.
    key_budgets: List[BudgetMeta]
    #: The same for the end user. Only with `for_` and a key that has an `end_user_limit`.
    end_user_budget: Optional[EndUserBudget]
    #: Milliseconds per step.
    timings: Dict[str, float]


def read_meta(headers: Mapping[str, str], idempotency_key: str) -> SearchMeta:
    upstreams = headers.get("search-upstreams", "")
    filtered = headers.get("search-filtered", "")
    explanation = headers.get("rank-explain")
    budgets = (_parse_budget(item) for item in headers.get("key-budget", "").split(","))
    return SearchMeta(
        request_id=headers.get("request-id", ""),
        charge=_parse_amount(headers.get("wallet-charge")) or "0.00",
        balance=_parse_amount(headers.get("wallet-balance")),
        replayed=headers.get("idempotent-replayed") == "true",
        idempotency_key=idempotency_key,
        upstreams=int(upstreams) if upstreams.isdecimal() else None,
        filtered=int(filtered) if filtered.isdecimal() else None,
        lens=headers.get("rank-lens"),
        explanation=None if explanation is None else _parse_explanation(explanation),
        rate_limit=_parse_rate_limit(headers.get("ratelimit-policy", ""), headers.get("ratelimit", "")),
        run=_parse_run(headers.get("search-run", "")),
        key_budgets=[budget for budget in budgets if budget is not None],
        end_user_budget=_parse_end_user_budget(headers.get("end-user-budget", "")),
        timings={
            step: float(ms) for step, ms in re.findall(r"([\w-]+);dur=(\d+(?:\.\d+)?)", headers.get("server-timing", ""))
        },
    )


def _parse_amount(header: Optional[str]) -> Optional[str]:
    """`0.01;currency=usd`"""
    return None if header is None else header.split(";")[0]


def _parse_rate_limit(policy: str, state: str) -> Optional[RateLimit]:
    """`"key";q=20;w=1` and `"key";r=17;t=1`"""
    limit = re.search(r";q=(\d+)", policy)
    remaining = re.search(r";r=(\d+)", state)
    reset = re.search(r";t=(\d+)", state)
    if limit is None or remaining is None:
        return None
    return RateLimit(int(limit[1]), int(remaining[1]), int(reset[1]) if reset else 0)


def _parse_run(header: str) -> Optional[RunMeta]:
    """`nightly; spent=0.02; left=0.48`"""
    match = re.match(r"([^;]+); *spent=([\d.]+); *left=([\d.]+)", header)
    return RunMeta(match[1], match[2], match[3]) if match else None


def _parse_budget(item: str) -> Optional[BudgetMeta]:
    """`day; spent=0.02; left=0.98; resets=41213`"""
    pattern = r" *(total|day|week|month); *spent=([\d.]+); *left=([\d.]+)(?:; *resets=(\d+))?(?:; *budget=([\w-]+))?"
    match = re.match(pattern, item)
    if match is None:
        return None
    return BudgetMeta(match[1], match[2], match[3], int(match[4]) if match[4] else None, match[5])


def _parse_end_user_budget(header: str) -> Optional[EndUserBudget]:
    """`spent=0.02; left=0.08; resets=41213`"""
    match = re.match(r"spent=([\d.]+); *left=([\d.]+); *resets=(\d+)", header)
    return EndUserBudget(match[1], match[2], int(match[3])) if match else None


def _parse_explanation(header: str) -> List[RankExplanation]:
    """`1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=unlisted;score=0.790;navigational`"""
    explanations = []
    for member in header.split(","):
        position, *parameters = member.strip().split(";")
        values = dict(text.split("=", 1) for text in parameters if "=" in text)
        facts = ";".join([position, values.get("from", ""), values.get("tier", ""), values.get("score", "")])
        if not re.fullmatch(r"\d+;\d+;[ABCNDE];\d+(\.\d+)?", facts):
            continue
        explanations.append(
            RankExplanation(
                position=int(position),
                upstream_rank=int(values["from"]),
                tier=values["tier"],
                reason=values.get("why", ""),
                list=RankList(values["list"], values.get("source", "").strip('"')) if "list" in values else None,
                score=float(values["score"]),
                guards=[text for text in parameters if "=" not in text],
            )
        )
    return explanations
