"""Attacks: nothing is served that should not be, nothing is executed, and the page stays up."""

from __future__ import annotations

import http.client
import json
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.serve.conftest import HOSTILE, Served, serving, trained

from samebits.serve.guard import MOST_BODY, GuardRules, is_loopback


def raw(served: Served, request: bytes, *, seconds: float = 10.0) -> bytes:
    """Send bytes as they are and return the answer up to its end."""
    with connected(served) as connection:
        connection.settimeout(seconds)
        connection.sendall(request)
        found = b""
        while data := connection.recv(65536):
            found += data
        return found


def connected(served: Served) -> socket.socket:
    parts = urlsplit(served.url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10)


def host_of(served: Served) -> str:
    return urlsplit(served.url).netloc


def assert_up(served: Served) -> None:
    assert served.get("/")[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.0.0.1:1",
        "",
        "[::1",
        "a b",
    ],
)
def test_a_foreign_host_is_not_answered(served: Served, host: str) -> None:
    """DNS rebinding: the attacker's name leads here, and the browser sends it as the host."""
    for path in ("/", "/api/v1/runs", "/v1/models", "/static/x"):
        answer = raw(served, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert answer.split(b"\r\n")[0].split()[1] in (b"421", b"400")
        assert b"samebits</a>" not in answer


def test_two_hosts_or_none_are_not_answered(served: Served) -> None:
    good = f"Host: {host_of(served)}\r\n"
    for headers in ("", good + "Host: evil.example\r\n", "Host: evil.example\r\n" + good):
        answer = raw(served, f"GET / HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode())
        assert answer.split()[1] in (b"400", b"421")


def test_loopback_names_are_answered(served: Served) -> None:
    port = urlsplit(served.url).port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        answer = raw(served, f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_foreign_page_can_call_nothing(served: Served, headers: dict[str, str]) -> None:
    body = json.dumps({"text": "hello"}).encode()
    kind = {"content_type": "application/json"}
    given = {name.replace("-", "_"): value for name, value in headers.items()}
    assert served.send("POST", "/api/v1/try/language", body, **kind, **given)[0] == 403
    assert served.get("/api/v1/runs", **given)[0] == 403
    assert served.get("/api/v1/events", **given)[0] == 403


def test_a_form_of_another_site_cannot_post(served: Served) -> None:
    """Forms need no permission of ours to be sent, but they cannot say that they hold JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert served.send("POST", "/api/v1/try/language", b'{"text":"x"}', content_type=kind)[0] == 415


def test_no_answer_lets_other_sites_read_it(served: Served) -> None:
    connection = http.client.HTTPConnection(host_of(served), timeout=10)
    for path in ("/", "/api/v1/runs", "/try", "/nope"):
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        assert answer.getheader("access-control-allow-origin") is None
        policy = answer.getheader("content-security-policy") or ""
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.getheader("x-content-type-options") == "nosniff"
        assert answer.getheader("x-frame-options") == "DENY"
    connection.close()


TRAVERSALS = [
    "/../../../../etc/passwd",
    "/static/../../../etc/passwd",
    "/static/%2e%2e/%2e%2e/etc/passwd",
    "/static/..%2f..%2fpages.py",
    "/runs/..%2f..%2f..%2fetc",
    "/runs/%2e%2e/%2e%2e/etc/passwd",
    "/runs/{key}/file?file=../../../../../../etc/passwd",
    "/runs/{key}/file?file=/etc/passwd",
    "/runs/{key}/file?file=record.json",
    "/api/v1/runs/{key}/file?name=../secret.txt",
    "/api/v1/runs/{key}/file?name=..%2f..%2fsecret.txt",
    "/api/v1/runs/{key}/file?name=/etc/passwd",
    "/api/v1/runs/{key}/file?name=steps.jsonl%00.svg",
    "/api/v1/runs/{key}/file?name=manifest.json",
    "/api/v1/runs/{key}/rows?file=../../first/steps.jsonl",
    "/api/v1/runs/../../etc/passwd",
    "//etc/passwd",
    "/\\..\\..\\etc\\passwd",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_paths_lead_nowhere_else(served: Served, path: str) -> None:
    (served.folder.parent / "secret.txt").write_text("root:secret")
    target = path.replace("{key}", served.key("first"))
    request = f"GET {target} HTTP/1.1\r\nHost: {host_of(served)}\r\nConnection: close\r\n\r\n"
    answer = raw(served, request.encode())
    assert answer.split()[1] in (b"404", b"400"), answer[:200]
    assert b"root:" not in answer


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    trained(tmp_path / "outside" / "model", sample="the secret")
    inside = tmp_path / "inside"
    trained(inside / "mine")
    (inside / "link").symlink_to(tmp_path / "outside" / "model")
    (inside / "mine" / "samples" / "final.txt").unlink()
    (inside / "mine" / "samples" / "final.txt").symlink_to(
        tmp_path / "outside" / "model" / "samples" / "final.txt"
    )
    (inside / "mine" / "samples" / "step-000099.txt").symlink_to(
        tmp_path / "outside" / "model" / "samples" / "final.txt"
    )
    with serving(inside) as found:
        assert [row["name"] for row in found.json("/api/v1/runs")["runs"]] == ["mine"]
        key = found.key("mine")
        assert found.get(f"/api/v1/runs/{key}/file?name=samples/final.txt")[0] == 404
        status, page = found.get(f"/runs/{key}")
        assert status == 200
        assert b"the secret" not in page
        assert b"the secret" not in found.get(f"/api/v1/runs/{key}/samples")[1]


def test_bodies_that_are_too_large_are_refused_before_they_are_read(served: Served) -> None:
    head = f"POST /api/v1/try/encoding HTTP/1.1\r\nHost: {host_of(served)}\r\nConnection: close\r\n"
    answer = raw(served, f"{head}Content-Length: {MOST_BODY + 1}\r\n\r\n".encode())
    assert answer.split()[1] == b"413"
    with connected(served) as connection:
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(2 * MOST_BODY // 0x10000):
                connection.sendall(piece)
            answer = connection.recv(1000)
        except OSError:
            answer = b"HTTP/1.1 413 closed"
    assert answer.split()[1] == b"413"
    assert served.send("POST", "/api/v1/try/encoding", b"x" * ((1 << 20) + 1))[0] == 413
    assert served.post("/api/v1/try/language", {"text": "x" * 20_001})[0] == 413
    assert served.post("/api/v1/try/text", {"prompt": "x", "tokens": 10**9, "model": ""})[0] in (400, 404)
    assert_up(served)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"text": 5}',
        b"[" * 100_000,
        b'{"text": "\\ud800"}',
        b'{"text":"x","model":{}}',
    ],
)
def test_bodies_that_make_no_sense_are_refused(served: Served, body: bytes) -> None:
    status, answer = served.send("POST", "/api/v1/try/language", body, content_type="application/json")
    assert status in (400, 413, 422)
    assert json.loads(answer)["error"]["message"]
    assert_up(served)


def test_headers_that_never_end_and_requests_that_are_none_are_dropped(served: Served) -> None:
    for request in (b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000, b"\x16\x03\x01" + b"\0" * 500, b"GET\r\n\r\n"):
        assert not raw(served, request).startswith(b"HTTP/1.1 200")
    assert_up(served)


def test_slow_clients_are_dropped_and_keep_nobody_waiting(served: Served) -> None:
    """A request that comes one byte at a time, and one whose body never comes: both end, others are answered meanwhile."""
    with ExitStack() as stack:
        slow = [stack.enter_context(connected(served)) for _ in range(20)]
        for connection in slow:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127")
        started = time.monotonic()
        assert_up(served)
        assert time.monotonic() - started < 5
        end = time.monotonic() + 40
        left = set(slow)
        while left and time.monotonic() < end:
            for connection in list(left):
                connection.settimeout(0.01)
                try:
                    connection.sendall(b".")
                    if connection.recv(100) == b"":
                        left.discard(connection)
                except TimeoutError:
                    continue
                except OSError:
                    left.discard(connection)
            time.sleep(0.2)
        assert not left
    assert_up(served)


def test_a_page_that_reads_nothing_costs_nothing(served: Served) -> None:
    key = served.key("first")
    with ExitStack() as stack:
        for _ in range(50):
            connection = stack.enter_context(connected(served))
            request = f"GET /api/v1/runs/{key}/events?since=0 HTTP/1.1\r\nHost: {host_of(served)}\r\n\r\n"
            connection.sendall(request.encode())
        for _ in range(5):
            assert_up(served)


def test_a_thousand_connections_leave_the_page_up(served: Served) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    with ExitStack() as stack:
        for number in range(1000):
            connection = stack.enter_context(connected(served))
            if number % 2:
                connection.sendall(b"GET /api/v1/events HTTP/1.1\r\n")
        started = time.monotonic()
        for path in ("/", "/try", "/api/v1/runs"):
            assert served.get(path)[0] == 200
        assert time.monotonic() - started < 10
    assert_up(served)


def test_many_requests_at_once_are_all_answered(served: Served) -> None:
    found: list[int] = []
    paths = ["/", "/try", "/api/v1/runs", "/compare", "/nope"] * 8
    threads = [threading.Thread(target=lambda p=path: found.append(served.get(p)[0])) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [200] * 32 + [404] * 8


def test_hostile_texts_are_texts_in_every_view(served: Served) -> None:
    key = served.key("a<b>&\"'")
    other = served.key("first")
    views = [
        "/",
        f"/runs/{key}",
        f"/runs/{key}/file?file=samples/final.txt",
        f"/runs/{key}/file?file=steps.jsonl&search=%3Cscript%3Ealert(1)%3C/script%3E&where.%3Cb%3E=%3Cscript%3E",
        f"/compare?runs={key},{other}",
        "/compare?runs=%3Cscript%3E,x",
        "/%3Cscript%3Ealert(1)%3C/script%3E",
        f"/api/v1/runs/{key}/report.html",
    ]
    for view in views:
        status, page = served.get(view)
        assert status in (200, 400, 404), view
        text = page.decode()
        assert "<script>" not in text.replace("<script src=", ""), view
        assert "<img src=x" not in text, view
        assert "<b>" not in text, view
    assert HOSTILE.encode() not in served.get(f"/runs/{key}")[1]


@pytest.fixture(scope="module")
def guarded(folder: Path) -> Iterator[Served]:
    """A server with a token."""
    with serving(folder, "--token", "correct-horse-battery") as found:
        yield Served(found.url.split("/?")[0], found.folder, found.process)


def test_nothing_is_served_without_the_token(guarded: Served) -> None:
    for path in ("/", "/api/v1/runs", "/v1/models", "/try", "/?token=wrong", "/static/x/serve.js"):
        assert guarded.get(path)[0] == 401
    for header in (
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic correct-horse-battery",
        "Bearer correct-horse-batter",
    ):
        assert guarded.get("/api/v1/runs", authorization=header)[0] == 401
    assert guarded.get("/", cookie="samebits_token=wrong")[0] == 401


def test_the_token_opens_by_address_cookie_and_header(guarded: Served) -> None:
    connection = http.client.HTTPConnection(host_of(guarded), timeout=10)
    connection.request("GET", "/runs/x?token=correct-horse-battery&a=1")
    answer = connection.getresponse()
    answer.read()
    assert (answer.status, answer.getheader("location")) == (303, "/runs/x?a=1")
    cookie = answer.getheader("set-cookie") or ""
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    connection.close()
    assert guarded.get("/", cookie=cookie.split(";")[0])[0] == 200
    assert guarded.get("/api/v1/runs", authorization="Bearer correct-horse-battery")[0] == 200
    lines = (
        "GET //evil.example/?token=correct-horse-battery HTTP/1.1",
        f"Host: {host_of(guarded)}",
        "Connection: close",
        "",
        "",
    )
    assert b"location: //" not in raw(guarded, "\r\n".join(lines).encode())


def test_beyond_loopback_a_token_is_made_up(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0") as found:
        assert "?token=" in found.url
        base, _, token = found.url.partition("/?token=")
        assert len(token) >= 24
        plain = Served(base.replace("localhost", "127.0.0.1"), tmp_path, found.process)
        assert plain.get("/")[0] == 401
        assert plain.get("/", authorization=f"Bearer {token}")[0] == 200
        assert (
            raw(plain, b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").split()[1]
            == b"421"
        )


def test_only_loopback_is_listened_on(served: Served) -> None:
    assert host_of(served).startswith("127.0.0.1:")
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost", "127.8.9.1")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.1", "example.org", "::")))


def test_rules_know_the_names_of_the_machine() -> None:
    rules = GuardRules("0.0.0.0", 80, "x" * 16)
    assert rules.knows("192.168.1.7")
    assert rules.knows(socket.gethostname())
    assert not rules.knows("evil.example")
    assert not rules.knows("192.168.1.7:81")


def test_the_server_writes_nothing_into_runs(served: Served) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_size)
            for root, _, names in os.walk(served.folder)
            for path in [Path(root), *(Path(root) / name for name in names)]
        }

    before = state()
    key = served.key("first")
    for path in ("/", f"/runs/{key}", f"/api/v1/runs/{key}/files", f"/api/v1/runs/{key}/report.html", "/try"):
        served.get(path)
    served.send("POST", f"/api/v1/runs/{key}/verify", b"")
    assert state() == before
