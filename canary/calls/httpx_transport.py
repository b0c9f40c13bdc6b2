"""A page through httpx with a transport of its own."""

import os

import httpx


class Counting(httpx.HTTPTransport):
    """A transport that counts what it sends."""

    sent = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Count, and send."""
        self.sent += 1
        return super().handle_request(request)


transport = Counting(retries=1)
with httpx.Client(transport=transport) as client:
    print(client.get(f"{os.environ['WORLD']}/page").json(), transport.sent)
