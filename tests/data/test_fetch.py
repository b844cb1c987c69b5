"""URLs: fetched once, verified always, never half."""

import json
import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest

from samebits.core.observing import waiting
from samebits.data.inputs import fetch
from samebits.data.inputs.cache import cache_folder
from samebits.data.inputs.corpus import open_corpus
from samebits.errors import ConfigError, InputError


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder; fails as often as ``failures`` says for the path, and counts requests for contents."""

    failures: dict[str, list[int]]
    contents: list[str]

    def send_head(self) -> Any:
        waiting = self.failures.get(self.path, [])
        if waiting:
            status = waiting.pop(0)
            if status != 200:
                self.send_error(status)
                return None
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"only this much")
            self.close_connection = True
            return None
        return super().send_head()

    def copyfile(self, source: Any, outputfile: Any) -> None:
        self.contents.append(self.path)
        super().copyfile(source, outputfile)

    def log_message(self, *_: Any) -> None:
        pass


class Server:
    """A web server over a folder, on this machine, for one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failures: dict[str, list[int]] = {}
        self.contents: list[str] = []
        handler = type("TestHandler", (Handler,), {"failures": self.failures, "contents": self.contents})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with monkeypatch.context() as patch:
        patch.setenv("SAMEBITS_CACHE_DIR", str(tmp_path / "cache"))
        patch.setattr(fetch, "RETRY_SECONDS", (0.0, 0.0, 0.0))
        yield tmp_path / "cache"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "a.txt").write_bytes(b"one\ntwo\n")
    os.utime(tmp_path / "www" / "a.txt", (10**9, 10**9))
    running = Server(tmp_path / "www")
    yield running
    running.close()


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    yield system
    system.rm("/", recursive=True)


def test_a_web_file_is_read_like_a_local_one(server: Server, read_corpus: Any) -> None:
    corpus = open_corpus([server.url + "/a.txt"], cell_bytes=3)
    assert corpus.names == ("a.txt",)
    assert read_corpus(corpus).texts == ["one", "two"]
    assert corpus.digest == open_corpus([str(server.folder / "a.txt")]).digest


def test_a_file_is_fetched_once_and_again_when_it_changed(server: Server, read_corpus: Any) -> None:
    url = server.url + "/a.txt"
    for _ in range(3):
        assert read_corpus(open_corpus([url])).texts == ["one", "two"]
    assert server.contents == ["/a.txt"]
    (server.folder / "a.txt").write_bytes(b"three\n")
    assert read_corpus(open_corpus([url])).texts == ["three"]


def test_a_damaged_cache_is_noticed_and_mended(server: Server, cache: Path, read_corpus: Any) -> None:
    url = server.url + "/a.txt"
    path = Path(open_corpus([url]).sources[0].path)
    assert cache in path.parents
    for damage in (b"one\ntwx\n", b"one\n"):
        path.write_bytes(damage)
        assert read_corpus(open_corpus([url])).texts == ["one", "two"]
    path.with_name("current.json").write_bytes(b"{")
    assert read_corpus(open_corpus([url])).texts == ["one", "two"]
    path.unlink()
    assert read_corpus(open_corpus([url])).texts == ["one", "two"]
    assert len(server.contents) == 5


def test_the_side_file_tells_url_size_and_digest(server: Server) -> None:
    path = Path(open_corpus([server.url + "/a.txt"]).sources[0].path)
    entry = json.loads(path.with_name("current.json").read_bytes())
    assert (entry["url"], entry["size"], entry["sha256"]) == (server.url + "/a.txt", 8, path.name)


def test_passing_trouble_is_tried_again(server: Server, read_corpus: Any) -> None:
    server.failures["/a.txt"] = [503, 503, 503]
    assert read_corpus(open_corpus([server.url + "/a.txt"])).texts == ["one", "two"]


def test_a_download_that_breaks_off_is_never_used(server: Server, cache: Path, read_corpus: Any) -> None:
    """Every answer breaks off after 14 of 1,000 bytes; what came waits for another try and is used by nobody."""
    server.failures["/b.txt"] = [200] * 50
    with pytest.raises(InputError, match=r"b\.txt: cannot be fetched after 4 tries: .*14 of 1000 bytes came"):
        open_corpus([server.url + "/b.txt"])
    names = {path.name for path in cache.rglob("*") if path.is_file()}
    assert names <= {"partial", "partial.validator", "lock"}


def test_missing_and_forbidden_files_are_named_at_once(server: Server) -> None:
    with pytest.raises(InputError, match=r"/none\.txt: cannot be fetched: the server says 404"):
        open_corpus([server.url + "/none.txt"])
    server.failures["/a.txt"] = [403] * 50
    with pytest.raises(InputError, match=r"/a\.txt: cannot be fetched: the server says 403"):
        open_corpus([server.url + "/a.txt"])
    assert len(server.failures["/a.txt"]) == 49


def test_a_server_that_is_not_there_is_an_error_with_the_url(server: Server) -> None:
    server.close()
    with pytest.raises(InputError, match=r"/a\.txt: cannot be fetched after 4 tries") as caught:
        open_corpus([server.url + "/a.txt"])
    assert caught.value.hint == "try again later"


def test_folders_and_patterns_of_object_stores(memory: Any, read_corpus: Any) -> None:
    for name in ("b/2.txt", "a/1.txt", "c.txt", ".hidden.txt", "d.bin"):
        memory.pipe(f"/data/{name}", name.encode())
    assert open_corpus(["memory://data"]).names == ("a/1.txt", "b/2.txt", "c.txt")
    assert open_corpus(["memory://data/*/*.txt"]).names == ("a/1.txt", "b/2.txt")
    corpus = open_corpus(["memory://data/c.txt", "memory://data/a/1.txt", "memory://data/c.txt"])
    assert corpus.names == ("c.txt", "1.txt", "c.txt")
    assert read_corpus(corpus).texts == ["c.txt", "a/1.txt", "c.txt"]
    assert corpus.sources[1].origin == "memory://data/a/1.txt"


def test_a_missing_object_is_named(memory: Any) -> None:
    with pytest.raises(
        InputError, match=r"memory://data/none\.txt: cannot be fetched: there is no such file"
    ):
        open_corpus(["memory://data/none.txt"])
    with pytest.raises(InputError, match=r"memory://data/\*\.txt: no files there"):
        open_corpus(["memory://data/*.txt"])


def test_an_unknown_kind_of_url_is_an_error() -> None:
    with pytest.raises(InputError, match=r"nowhere://x/a\.txt: cannot be opened: Protocol not known"):
        open_corpus(["nowhere://x/a.txt"])


def test_the_suffix_of_a_url_tells_the_format(server: Server) -> None:
    (server.folder / "rows.jsonl").write_bytes(b'{"text":"a"}\n')
    corpus = open_corpus([server.url + "/rows.jsonl?download=true"])
    assert (corpus.names, corpus.sources[0].format) == (("rows.jsonl",), "jsonl")


def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.delenv("SAMEBITS_CACHE_DIR")
        patch.setenv("XDG_CACHE_HOME", "/somewhere")
        patch.setattr("sys.platform", "linux")
        assert cache_folder() == Path("/somewhere/samebits")


class Hostile(Handler):
    """Says that 1,000,000 bytes will come; then stalls, trickles, or breaks off and takes ranges."""

    manner = "stall"
    asked: list[str | None]

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        start = int(wanted[6:-1]) if wanted and self.headers.get("If-Range") == '"v1"' else 0
        self.send_response(206 if start else 200)
        self.send_header("ETag", '"v1"')
        self.send_header("Content-Length", str(1_000_000 - start))
        self.end_headers()
        data = (b"line of text\n" * 76924)[start:1_000_000]
        if self.manner == "break":
            self.wfile.write(data[:400_000])
        else:
            self.wfile.write(data[:600])
            for _ in range(100 if self.manner == "trickle" else 0):
                time.sleep(0.1)
                self.wfile.write(b"x")
            time.sleep(10)
        self.close_connection = True


@pytest.fixture
def hostile() -> Iterator[Any]:
    servers = []

    def start(manner: str) -> tuple[str, list[str | None]]:
        asked: list[str | None] = []
        handler = type("TestHandler", (Hostile,), {"manner": manner, "asked": asked})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads, server.block_on_close = True, False
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # the client goes away on purpose
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/a.txt", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("manner", ["stall", "trickle"])
def test_a_server_without_progress_is_given_up_in_time_by_name(
    hostile: Any, manner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _ = hostile(manner)
    said: list[str] = []
    with monkeypatch.context() as patch:
        patch.setenv("SAMEBITS_FETCH_TIMEOUT", "1.5")
        patch.setattr(waiting, "listener", said.append)
        began = time.monotonic()
        with pytest.raises(InputError, match=r"a\.txt: no progress: .* in 1.5 s"):
            open_corpus([url])
    assert time.monotonic() - began < 4
    assert any(line.startswith("fetching: 0 of 1 files, 0.0 of 1.0 MB") for line in said)
    assert said[-1] == ""


def test_a_download_that_breaks_off_goes_on_where_it_stopped(hostile: Any, read_corpus: Any) -> None:
    url, asked = hostile("break")
    texts = read_corpus(open_corpus([url])).texts
    assert asked == [None, "bytes=400000-", "bytes=800000-"]
    assert texts[:2] == ["line of text"] * 2
    assert sum(len(text) + 1 for text in texts) == 1_000_001


def test_more_bytes_than_allowed_are_refused_as_soon_as_they_are_announced(
    hostile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _ = hostile("stall")
    with monkeypatch.context() as patch:
        patch.setenv("SAMEBITS_FETCH_MAX_BYTES", "5000")
        with pytest.raises(InputError, match=r"1,000,000 bytes are more than the limit of 5,000"):
            open_corpus([url])
        patch.setenv("SAMEBITS_FETCH_MAX_BYTES", "many")
        with pytest.raises(ConfigError, match="SAMEBITS_FETCH_MAX_BYTES is 'many'"):
            open_corpus([url])
