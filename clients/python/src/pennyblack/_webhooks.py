"""Standard Webhooks (standardwebhooks.com): an HMAC over the id, the timestamp and the raw body."""

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Any, Dict, Mapping, Union, cast

_tolerance_seconds = 300
_prefix = "whsec_"


class WebhookError(Exception):
    """The webhook was not sent by Pennyblack, or not recently. Respond with 400."""


def verify_webhook(payload: Union[str, bytes], headers: Mapping[str, str], secret: str) -> Dict[str, Any]:
    """Returns the event if its signature is valid and its timestamp is within five minutes; raises WebhookError otherwise.

    payload: The raw body. Parsing and serializing it again changes the bytes.
    headers: Their names can be in upper or lower case.
    secret: The signing secret, `whsec_...`.
    """
    body = payload.encode() if isinstance(payload, str) else payload
    webhook_id = _read_header(headers, "webhook-id")
    timestamp = _read_header(headers, "webhook-timestamp")
    is_time = re.fullmatch("[0-9]{1,12}", timestamp) is not None
    if not is_time or abs(time.time() - int(timestamp)) > _tolerance_seconds:
        raise WebhookError("The webhook timestamp is more than five minutes off. Check this machine's clock.")
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    expected = hmac.new(_decode_secret(secret), signed, hashlib.sha256).digest()
    # During secret rotation a webhook carries several signatures.
    signatures = [text[3:] for text in _read_header(headers, "webhook-signature").split(" ") if text.startswith("v1,")]
    if not any([hmac.compare_digest(_decode(signature), expected) for signature in signatures]):
        raise WebhookError("The webhook signature does not match. Check the secret, and pass the raw request body.")
    return cast(Dict[str, Any], json.loads(body))


def _read_header(headers: Mapping[str, str], name: str) -> str:
    value = next((value for key, value in headers.items() if key.lower() == name), "")
    if not value:
        raise WebhookError(f"The {name} header is missing.")
    return value


def _decode_secret(secret: str) -> bytes:
    key = _decode(secret[len(_prefix) :] if secret.startswith(_prefix) else secret)
    if len(key) < 16:
        raise WebhookError("The secret is not a webhook secret (whsec_...).")
    return key


def _decode(text: str) -> bytes:
    """Empty if it is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
