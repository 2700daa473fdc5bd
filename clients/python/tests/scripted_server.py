"""A server that sends the responses of a case and records the requests."""

import json
import socket
import struct
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional


@dataclass
class Received:
    method: str
    path: str
    headers: Dict[str, str]
    body: Any


class ScriptedServer:
    def __init__(self) -> None:
        self.responses: List[Dict[str, Any]] = []
        self.received: List[Received] = []
        self.on_last_response: Callable[[], None] = lambda: None
        #: Whether a step that hangs keeps its connection open. Otherwise it is closed without a response.
        self.is_hanging = False
        self.ended = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                length = self.headers.get("content-length")
                body = None if length is None else json.loads(self.rfile.read(int(length)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.received.append(Received(self.command, self.path, headers, body))
                number = len(server.received)
                self.close_connection = True
                self.play(server.last_step())
                if number == len(server.responses):
                    server.on_last_response()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def play(self, step: Dict[str, Any]) -> None:
                close: Optional[str] = step.get("close")
                if step.get("hang") and not server.is_hanging:
                    return
                if step.get("hang"):
                    # In its own thread, because the caller aborts after the last response.
                    server.on_last_response()
                    server.ended.wait(30)
                    return
                if close == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if close in ("reset", "before_response"):
                    return
                body = step.get("body", {})
                data = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(step["status"])
                for name, value in {"content-length": str(len(data)), **step.get("headers", {})}.items():
                    self.send_header(name, value)
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(data[:-5] if close == "mid_body" else data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def last_step(self) -> Dict[str, Any]:
        """The response to the last request."""
        number = len(self.received)
        if number == 0:
            return {}
        return self.responses[number - 1] if number <= len(self.responses) else {"status": 599}

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
