"""A stand-in for the write side of the Hub: data sets in memory, files by commit, large ones through their storage."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Hub:
    """What was sent to it."""

    address: str = ""
    private: dict[str, bool] = field(default_factory=dict)  # by data set
    files: dict[str, dict[str, bytes]] = field(
        default_factory=dict
    )  # by data set: content by path, as of the last commit
    commits: list[tuple[str, str]] = field(default_factory=list)  # data set, message
    tags: dict[str, str] = field(default_factory=dict)  # commit by "data set tag"
    stored: dict[str, bytes] = field(default_factory=dict)  # large files by SHA-256
    uploads: int = 0
    fail_uploads: bool = False
    tokens: set[str] = field(default_factory=set)


def _commit_id(hub: Hub) -> str:
    return hashlib.sha1(str(len(hub.commits)).encode()).hexdigest()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *args) -> None:
        pass

    def _send(self, status: int, body: bytes = b"{}", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _json(self, value: object, status: int = 200, **headers: str) -> None:
        self._send(status, json.dumps(value).encode(), Content_Type="application/json", **headers)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _path(self) -> str:
        return urllib.parse.unquote(urllib.parse.urlparse(self.path).path)

    def do_GET(self) -> None:
        hub, path = self.hub, self._path()
        for name, files in hub.files.items():
            head = {"X_Repo_Commit": _commit_id(hub)}
            if path.startswith(f"/api/datasets/{name}/tree/"):
                listed = [
                    {"type": "file", "path": p, "size": len(b), "oid": hashlib.sha1(b).hexdigest()}
                    for p, b in files.items()
                ]
                return self._json(listed)
            if path in (f"/api/datasets/{name}", f"/api/datasets/{name}/revision/main"):
                siblings = [{"rfilename": p} for p in files]
                return self._json(
                    {
                        "_id": "1",
                        "id": name,
                        "sha": _commit_id(hub),
                        "private": hub.private[name],
                        "siblings": siblings,
                        "tags": [],
                    }
                )
            if path.startswith(f"/datasets/{name}/resolve/"):
                body = files.get(path.split("/resolve/", 1)[1].split("/", 1)[1])
                if body is None:
                    return self._send(404, X_Error_Code="EntryNotFound", **head)
                return self._send(200, body, ETag=f'"{hashlib.sha1(body).hexdigest()}"', **head)
        return self._send(404, X_Error_Code="RepoNotFound")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        hub, path, body = self.hub, self._path(), self._body()
        if path == "/api/validate-yaml":
            return self._json({"errors": [], "warnings": []})
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token not in hub.tokens:
            return self._json({"error": "Invalid username or password."}, 401)
        if path == "/api/repos/create":
            given = json.loads(body)
            name = f"{given['organization']}/{given['name']}" if given.get("organization") else given["name"]
            if name in hub.files:
                return self._json({"error": "exists", "url": f"{hub.address}/datasets/{name}"}, 409)
            private = given.get("private", given.get("visibility") == "private")
            hub.files[name], hub.private[name] = {}, bool(private)
            return self._json({"url": f"{hub.address}/datasets/{name}"})
        name = next((n for n in hub.files if f"/datasets/{n}/" in path or f"/datasets/{n}.git/" in path), None)
        if name is None:
            return self._send(404, X_Error_Code="RepoNotFound")
        if "/preupload/" in path:
            files = json.loads(body)["files"]
            modes = [
                {"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(".parquet") else "regular"} for f in files
            ]
            return self._json({"files": [{**m, "shouldIgnore": False} for m in modes]})
        if path.endswith("/info/lfs/objects/batch"):
            objects = []
            for o in json.loads(body)["objects"]:
                actions = {"upload": {"href": f"{hub.address}/storage/{o['oid']}", "header": {}}}
                objects.append({**o, **({} if o["oid"] in hub.stored else {"actions": actions})})
            return self._json({"transfer": "basic", "objects": objects})
        if "/commit/" in path:
            return self._commit(name, body)
        if "/tag/" in path:
            commit = path.split("/tag/", 1)[1]
            hub.tags[f"{name} {json.loads(body)['tag']}"] = commit
            return self._json({})
        return self._send(404)

    def _commit(self, name: str, body: bytes) -> None:
        hub, files = self.hub, dict(self.hub.files[name])
        message = ""
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                message = value["summary"]
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = hub.stored[value["oid"]]
            elif line["key"] == "deletedFile":
                files.pop(value["path"], None)
        hub.files[name] = files
        hub.commits.append((name, message))
        commit = _commit_id(hub)
        self._json(
            {"commitOid": commit, "commitUrl": f"{hub.address}/datasets/{name}/commit/{commit}", "success": True}
        )

    def do_PUT(self) -> None:
        body = self._body()
        if self.hub.fail_uploads:
            return self._send(403)
        digest = self._path().removeprefix("/storage/")
        assert hashlib.sha256(body).hexdigest() == digest
        self.hub.stored[digest] = body
        self.hub.uploads += 1
        return self._send(200)


@contextmanager
def accepting(token: str = "secret") -> Iterator[Hub]:
    """A Hub that takes pushes with this token; its address is for HF_ENDPOINT."""
    hub = Hub(tokens={token})
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
