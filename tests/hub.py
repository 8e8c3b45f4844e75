"""A stand-in for the read side of the Hub: one data set in a folder, at one revision."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMIT = "c0ffee" + "0" * 34


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root: Path
    repository: str
    revision: str

    def log_message(self, *args) -> None:
        pass

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), Content_Type="application/json")

    def do_GET(self) -> None:
        path = urllib.parse.unquote(urllib.parse.urlparse(self.path).path)
        files = {p.relative_to(self.root).as_posix(): p for p in sorted(self.root.rglob("*")) if p.is_file()}
        api, data = f"/api/datasets/{self.repository}", f"/datasets/{self.repository}/resolve/"
        if path.startswith(f"{api}/tree/"):
            self._json(
                [
                    {"type": "file", "path": n, "size": p.stat().st_size, "oid": hashlib.sha1(n.encode()).hexdigest()}
                    for n, p in files.items()
                ]
            )
        elif path == api or path.startswith(f"{api}/revision/"):
            asked = path.removeprefix(f"{api}/revision/") if path != api else "main"
            if asked not in ("main", self.revision, COMMIT):
                self._send(404, b"{}", X_Error_Code="RevisionNotFound")
                return
            siblings = [{"rfilename": n} for n in files]
            self._json(
                {"_id": "1", "id": self.repository, "sha": COMMIT, "private": False, "tags": [], "siblings": siblings}
            )
        elif path.startswith(data):
            file = files.get(path.removeprefix(data).split("/", 1)[1])
            if file is None:
                self._send(404, b"{}", X_Error_Code="EntryNotFound")
                return
            body = file.read_bytes()
            self._send(200, body, ETag=f'"{hashlib.sha1(body).hexdigest()}"', X_Repo_Commit=COMMIT)
        else:
            self._send(404, b"{}", X_Error_Code="RepoNotFound")

    do_HEAD = do_GET


@contextmanager
def serving(root: Path, repository: str, revision: str) -> Iterator[str]:
    """Serve `root` as `repository`; yields the address for HF_ENDPOINT."""
    handler = type("Handler", (_Handler,), {"root": root, "repository": repository, "revision": revision})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
