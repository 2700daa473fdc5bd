"""`repeat`: one Idempotency-Key for identical searches within a time window, in any number of processes.

The first of them is charged; the API returns its stored answer to the others. The TypeScript client derives the same keys.
"""

import hashlib
import hmac
import re
from typing import Optional

_seconds_per_unit = {"s": 1, "m": 60, "h": 3_600}
# The API stores an answer for 24 hours. A longer window would charge a second time before it ends.
_max_seconds = 86_400
# The white space that the API and JavaScript trim, which differs from str.strip().
_white_space = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def derive_repeat_key(
    secret: str, query: str, n: Optional[int], category: Optional[str], repeat: str, now: float
) -> str:
    """Windows are aligned to the Unix epoch. The query is the last part, because only it can contain a line break."""
    seconds = _parse_duration(repeat)
    window = int(now // seconds)
    parts = ["pennyblack repeat", seconds, window, 10 if n is None else n, category or "", query.strip(_white_space)]
    text = "\n".join(str(part) for part in parts)
    return hmac.new(secret.encode(), text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _parse_duration(repeat: str) -> int:
    match = re.fullmatch(r"([0-9]{1,5})([smh])", repeat) if isinstance(repeat, str) else None
    seconds = int(match[1]) * _seconds_per_unit[match[2]] if match else 0
    if not 1 <= seconds <= _max_seconds:
        raise ValueError('repeat must be a duration from "1s" to "24h", such as "20m".')
    return seconds
