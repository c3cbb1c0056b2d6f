"""A web service on 127.0.0.1, which answers as the one in Java of PyCOMPSs' test bench does: that one needs Maven and a Java server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import unquote

JSON, TEXT = "application/json", "text/plain"


class _Handler(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, str, str, str]]] = []

    def do_GET(self) -> None:
        self._note("")
        _, _, what, *rest = [unquote(part) for part in self.path.split("/")]
        message = rest[0] if rest else ""
        if what == "dummy":
            self._answer("it_works", TEXT)
        elif what == "get_length":
            self._answer(str(len(message)), TEXT)
        elif what == "print_message":
            self._answer(json.dumps(message), JSON)
        elif what == "produce_format":
            form = {"depth_0": "zero", "length": len(message), "child_json": {"depth_1": "one", "message": message}}
            self._answer(json.dumps(form), JSON)
        else:
            self._answer(f"there is no {what}", TEXT, 404)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._note(content)
        if self.path == "/test/post/":
            self._answer("post_works", TEXT)
        elif self.path == "/test/post_json/":
            self._answer(content, JSON)
        else:
            self._answer("there is no such thing", TEXT, 404)

    def _note(self, content: str) -> None:
        self.asked.append((self.command, self.path, self.headers.get("Content-Type", ""), content))

    def _answer(self, text: str, kind: str, status: int = 200) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def running() -> Iterator[tuple[str, list[tuple[str, str, str, str]]]]:
    """In the block it runs. Gives its address, and the list of what it was asked: method, path, type and content."""
    handler = type("Handler", (_Handler,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/test/", handler.asked
        finally:
            server.shutdown()
            thread.join()
