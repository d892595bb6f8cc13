"""A client for the API that needs only Python's standard library."""

import json
import random
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

# An error with another body was not said by the service, but by a load
# balancer, firewall or proxy in front of it.
TAGS = {
    400: "PartnerBadRequest",
    401: "PartnerUnauthorized",
    403: "PartnerForbidden",
    404: "PartnerNotFound",
    409: "PartnerConflict",
}


class MessagingError(Exception):
    """`outcome` of a send: "not_sent", or "unknown" if it may have gone out."""

    def __init__(self, status, tag, message, outcome, correlation_id=None):
        super().__init__(message)
        self.status, self.tag, self.outcome, self.correlation_id = (
            status,
            tag,
            outcome,
            correlation_id,
        )


class Messaging:
    def __init__(
        self, base_url, api_key, attempts=4, timeout=30, first_wait=0.5
    ):
        self.base_url, self.api_key = base_url, api_key
        self.attempts, self.timeout, self.first_wait = (
            attempts,
            timeout,
            first_wait,
        )

    def me(self):
        return self._call("GET", "/me")

    def conversation(self, agency_id, phone):
        return self._call(
            "GET",
            f"/agencies/{agency_id}/conversations/{quote(phone, safe='')}",
        )

    def send(self, agency_id, to, body, operation_id):
        """Repeats the same id and bytes: the contact gets one text."""
        text = {"to": to, "body": body, "operationId": operation_id}
        return self._call("POST", f"/agencies/{agency_id}/messages", text)

    def _call(self, method, path, content=None):
        data = None if content is None else json.dumps(content).encode()
        headers = {
            "Authorization": f"Bearer {self.api_key}",
            "Content-Type": "application/json",
        }
        outcome = "not_sent"
        for attempt in range(1, self.attempts + 1):
            wait = self.first_wait * 2 ** (attempt - 1) * random.uniform(0.5, 1)
            try:
                request = Request(
                    self.base_url + path,
                    data=data,
                    headers=headers,
                    method=method,
                )
                with urlopen(request, timeout=self.timeout) as response:
                    return json.load(response)
            except HTTPError as error:
                retry_after = error.headers.get("Retry-After", "")
                may_pass = error.code >= 500 or (
                    error.code == 429
                    and retry_after.isdigit()
                    and int(retry_after) <= 30
                )
                failure = self._failure(error)
                if error.code >= 500 or failure.tag != TAGS.get(
                    error.code
                ):  # a gateway may have passed it on
                    outcome = "unknown"
                if retry_after.isdigit():
                    wait = max(wait, int(retry_after))
            except (
                OSError,
                HTTPException,
                ValueError,
            ) as error:  # no answer, or one that was cut off
                outcome, may_pass = "unknown", True
                failure = MessagingError(
                    None, "NoAnswer", type(error).__name__, outcome
                )
            if not may_pass or attempt == self.attempts:
                failure.outcome = outcome
                raise failure
            time.sleep(wait)

    @staticmethod
    def _failure(error):
        try:
            answer = json.load(error)
        except (OSError, HTTPException, ValueError):
            answer = None
        tag, message = "Unreadable", f"HTTP {error.code}"
        if isinstance(answer, dict) and isinstance(answer.get("_tag"), str):
            tag, message = answer["_tag"], str(answer.get("message", message))
        return MessagingError(
            error.code,
            tag,
            message,
            "not_sent",
            error.headers.get("X-Correlation-Id"),
        )
