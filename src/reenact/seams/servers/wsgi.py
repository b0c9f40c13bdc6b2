"""WSGI applications (wsgiref, werkzeug, and so Flask's own server): each request is a run, in its server's thread.

The run lasts from the call of the application to the last piece of its response. Between two pieces the server's own
code runs, without a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from reenact.facts.call import Call, Failure, Value
from reenact.facts.served_requests import ServedResponse, path_of_environ, request_call, scope_of_environ
from reenact.facts.values import describe_error
from reenact.seams import lanes
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace
from reenact.seams.servers.hosting import RequestRun, host
from reenact.seams.servers.wsgi_input import Body
from reenact.seams.switchboard import begin, guarded

Application = Callable[[dict[str, Any], Callable[..., Any]], Any]


def patch_wsgiref(module: ModuleType) -> None:
    """Hook ``wsgiref.simple_server``."""
    replace(module.WSGIServer, "set_app", _setting)
    for name in ("serve_forever", "handle_request"):
        replace(module.WSGIServer, name, _serving(lambda server: server.get_app()))


def patch_werkzeug(module: ModuleType) -> None:
    """Hook ``werkzeug.serving``."""
    replace(module.BaseWSGIServer, "__init__", _making)
    for name in ("serve_forever", "handle_request"):
        replace(module.BaseWSGIServer, name, _serving(lambda server: server.app))


def _wrapped(application: Any) -> Any:
    return application if host() is None or isinstance(application, WsgiWrapper) else WsgiWrapper(application)


def _setting(original: Any) -> Any:
    def set_app(self: Any, application: Any) -> None:
        original(self, _wrapped(application))

    return set_app


def _making(original: Any) -> Any:
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807 - the method it replaces
        original(self, *args, **options)
        self.app = _wrapped(self.app)

    return __init__


def _serving(application_of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``serve_forever``, or ``handle_request``: the server has no session; a replay plays instead."""

    def make(original: Any) -> Any:
        def serve(self: Any, *args: Any, **options: Any) -> None:
            serving = host()
            if serving is None:
                original(self, *args, **options)
                return
            serving.serving()
            perform = serving.performer()
            if perform is not None and serving.has_no_client():  # the performer returns at once then
                perform(None)
                return
            gate = serving.preamble.gate
            gate.blocked()  # the main strand waits for the world
            try:
                with lanes.inside(None):
                    if perform is None:
                        original(self, *args, **options)
                    else:
                        application = application_of(self)
                        perform(getattr(application, "application", application))
            except KeyboardInterrupt:
                serving.interrupted()
                raise
            finally:
                gate.unblocked()

        return serve

    return make


class WsgiWrapper:
    """Wraps an application as a server calls it.

    Attributes:
        application: The application itself.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        """WSGI."""
        serving = host()
        if serving is None or serving.ignores(str(environ.get("REQUEST_METHOD", "GET")), path_of_environ(environ)):
            return self.application(environ, start_response)
        try:
            scope = scope_of_environ(environ)
            request = serving.request(scope)
        except Exception as error:
            if serving.preamble.session.fault(error):
                raise
            request = None
        if request is None:
            return self.application(environ, start_response)
        request.enter()
        exchange = guarded(request.lane, lambda: WsgiExchange(request.lane, request_call(scope), environ))
        if exchange is None:
            request.leave(None, None)
            return self.application(environ, start_response)
        response = WsgiResponse(exchange, request)
        return response.begun(lambda: self.application(environ, exchange.starting(start_response)))


class WsgiExchange:
    """One request and its response at a WSGI application. The body in ``environ`` is read through it.

    Args:
        lane: Root of the request's run.
        call: The request, or the recorded one.
        environ: The environment that the application gets.
    """

    def __init__(self, lane: Lane, call: Call, environ: dict[str, Any]) -> None:
        self.answer = ServedResponse()
        self.lane = lane
        crossing = begin(lane, lambda: call)
        self._body: Body | None = None
        if crossing is not None and crossing.mode != "rerun":
            self._body = Body(crossing, lane, environ, call.head.get("headers") or [])
            environ["wsgi.input"] = self._body

    def starting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """``start_response``, noted."""

        def start_response(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            with lanes.inside(None):
                write = original(status, headers, *more)
            pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
            self._saw({"type": "http.response.start", "status": int(status.split(maxsplit=1)[0]), "headers": pairs})

            def noted(data: bytes) -> Any:
                self.sent(data)
                with lanes.inside(None):  # the server's own code: it sends and logs
                    return write(data)

            return noted

        return start_response

    def sent(self, data: bytes) -> None:
        """One piece of the response."""
        self._saw({"type": "http.response.body", "body": data, "more_body": True})

    def over(self, error: BaseException | None) -> None:
        """Note the answer, or the exception."""
        if error is not None and not isinstance(error, Exception):
            return
        try:
            if self._body is not None:
                self._body.unread()
            if error is None:
                self._saw({"type": "http.response.body", "body": b"", "more_body": False})
            crossing = begin(self.lane, self.answer.call)
            if crossing is not None and crossing.mode != "frozen":
                crossing.settle(Value(b"null") if error is None else Failure(describe_error(error)))
        except Exception as fault:
            if self.lane.session.fault(fault):
                raise

    def _saw(self, message: Mapping[str, Any]) -> None:
        guarded(self.lane, lambda: self.answer.saw(message))


class WsgiResponse:
    """The iterable for the server: the application's response, in the request's lane, piece by piece."""

    def __init__(self, exchange: WsgiExchange, request: RequestRun) -> None:
        self._exchange = exchange
        self._request = request
        self._result: Any = None
        self._iterator: Iterator[bytes] | None = None
        self._done = False

    def begun(self, call: Callable[[], Any]) -> Any:
        """Call the application. Returns the response to send; a finished response is returned unchanged."""
        try:
            self._result = call()
            if isinstance(self._result, (list, tuple)):
                for piece in self._result:
                    self._exchange.sent(piece)
        except BaseException as error:
            self._end(error)
            raise
        if isinstance(self._result, (list, tuple)):
            self._end(None)
            return self._result
        self._request.suspend()
        return self

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        self._request.resume()
        try:
            if self._iterator is None:
                self._iterator = iter(self._result)
            piece = next(self._iterator)
        except StopIteration:
            self._request.suspend()
            raise
        except BaseException as error:
            self._end(error)
            raise
        self._exchange.sent(piece)
        self._request.suspend()
        return piece

    def close(self) -> None:
        """The server has sent the response, or given up."""
        if self._done:
            return
        self._request.resume()
        try:
            if hasattr(self._result, "close"):
                self._result.close()
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        """End the run, once."""
        if self._done:
            return
        self._done = True
        try:
            self._exchange.over(error)
        finally:
            self._request.leave(error, self._exchange.answer.status)
