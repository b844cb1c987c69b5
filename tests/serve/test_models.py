"""Models answer in their own process: pages, programs and a stock OpenAI client; and they can be lost without harm."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.serve.conftest import Served, serving, until

from samebits.serve.answers.completions import cut_at_stop


@pytest.fixture(scope="module")
def site(models: Path) -> Iterator[Served]:
    """A server over the models."""
    with serving(models) as found:
        yield found


@pytest.fixture(scope="module")
def client(site: Served) -> Any:
    """A stock client, pointed at the server."""
    openai = pytest.importorskip("openai", reason="openai is not installed: pip install 'samebits[dev]'")
    return openai.OpenAI(base_url=f"{site.url}/v1", api_key="not needed", max_retries=0, timeout=120)


def test_the_models_of_the_folder_and_of_the_package_are_listed(site: Served) -> None:
    found = {(model["kind"], model["name"]) for model in site.json("/api/v1/models")["models"]}
    assert {
        ("language", "inside the package"),
        ("encoding", "inside the package"),
        ("text", "writer"),
    } <= found


def test_a_language_is_named_with_its_evidence(site: Served) -> None:
    text = "Der Zug nach München fährt heute vom anderen Gleis ab."
    status, found = site.post("/api/v1/try/language", {"text": text})
    assert status == 200
    assert found["label"] == "de"
    assert found["ranking"][0][0] == "de"
    assert "".join(piece for piece, _ in found["evidence"]) == text
    assert max(level for _, level in found["evidence"]) == 4


def test_a_mixed_text_is_cut_where_its_language_changes(site: Served) -> None:
    text = (
        "Der Zug nach München fährt heute vom anderen Gleis ab. The train leaves from another platform today."
    )
    found = site.post("/api/v1/try/language", {"text": text})[1]
    assert "".join(span["text"] for span in found["spans"]) == text
    assert [span["label"] for span in found["spans"]] == ["de", "en"]


def test_an_encoding_is_found_with_previews(site: Served) -> None:
    text = "Grüße aus München, schöne Straße, über den Fluß"
    status, body = site.send("POST", "/api/v1/try/encoding", text.encode("cp1252"))
    found = json.loads(body)
    assert status == 200
    assert found["encoding"] in ("cp1252", "windows-1252", "iso8859-1", "iso-8859-1", "iso8859-15")
    assert found["candidates"][0]["preview"] == text
    assert site.send("POST", "/api/v1/try/encoding", b"\x00\x01\x02\xff\xfe\x00" * 50)[0] == 200


def test_tokens_add_up_to_the_text(site: Served) -> None:
    status, found = site.post("/api/v1/try/tokens", {"text": "same bits"})
    assert status == 200
    assert "".join(text for text, _ in found["tokens"]) == "same bits"
    assert found["count"] == found["bytes"] == 9


def test_a_distance_comes_with_its_proof_and_a_drawing(site: Served) -> None:
    a = {"nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "<script>"}], "edges": [{"from": 0, "to": 1}]}
    b = {"nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}], "edges": []}
    status, found = site.post("/api/v1/try/distance", {"first": a, "second": b})
    assert status == 200
    assert (found["lower"], found["upper"], found["exact"]) == (2.0, 2.0, True)
    assert "<script>" not in found["svg"]
    assert site.post("/api/v1/try/distance", {"first": a, "second": {"nodes": 5}})[0] == 422
    many = {"nodes": [{"id": k} for k in range(500)], "edges": []}
    assert site.post("/api/v1/try/distance", {"first": a, "second": many})[0] == 422


def test_a_text_is_written_piece_by_piece_and_the_seed_decides(site: Served) -> None:
    def write(seed: int) -> str:
        body = json.dumps({"prompt": "The ", "tokens": 30, "seed": seed, "model": ""}).encode()
        status, answer = site.send("POST", "/api/v1/try/text", body, content_type="application/json")
        assert status == 200
        parts = [json.loads(line) for line in answer.splitlines()]
        assert parts[0] == {"prompt_tokens": 4}
        assert parts[-1] == {"end": True}
        return "".join(part.get("text", "") for part in parts)

    assert write(1) == write(1)
    assert write(1) != write(2)
    assert len(write(3)) == 30


def test_a_stock_client_completes(client: Any, site: Served) -> None:
    assert [model.id for model in client.models.list()] == ["writer"]
    asked = {"model": "writer", "prompt": "The same", "max_tokens": 12, "seed": 5, "temperature": 0.7}
    found = client.completions.create(**asked)
    assert len(found.choices[0].text) == 12
    assert (found.choices[0].finish_reason, found.object) == ("length", "text_completion")
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (8, 12)
    assert client.completions.create(**asked).choices[0].text == found.choices[0].text
    echoed = client.completions.create(**asked, echo=True)
    assert echoed.choices[0].text == "The same" + found.choices[0].text


def test_a_stock_client_streams(client: Any) -> None:
    asked = {"model": "writer", "prompt": ["The same", "bytes"], "max_tokens": 8, "seed": 5, "n": 2}
    whole = client.completions.create(**asked)
    assert [choice.index for choice in whole.choices] == [0, 1, 2, 3]
    texts, reasons, usage = {0: "", 1: "", 2: "", 3: ""}, {}, None
    for chunk in client.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            texts[choice.index] += choice.text
            reasons[choice.index] = choice.finish_reason
    assert list(texts.values()) == [choice.text for choice in whole.choices]
    assert set(reasons.values()) == {"length"}
    assert usage is not None
    assert usage.completion_tokens == 32


def test_a_stock_client_stops_at_its_stop_text(client: Any) -> None:
    asked = {"model": "writer", "prompt": "The ", "max_tokens": 200, "seed": 1}
    whole = client.completions.create(**asked).choices[0].text
    stop = whole[40:43]
    cut = client.completions.create(**asked, stop=[stop, "never there"]).choices[0]
    assert (cut.text, cut.finish_reason) == (whole[: whole.index(stop)], "stop")


def test_a_stock_client_is_told_what_is_not_supported(client: Any) -> None:
    import openai

    for extra in ({"logprobs": 3}, {"best_of": 4}, {"max_tokens": 10**6}, {"n": 100}, {"temperature": -1}):
        with pytest.raises(openai.BadRequestError):
            client.completions.create(**{"model": "writer", "prompt": "x", "max_tokens": 2, **extra})
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="no such model", prompt="x")


@pytest.mark.parametrize(
    ("text", "stop", "shown", "kept", "found"),
    [
        ("hello", [], "hello", "", False),
        ("one\n\ntwo", ["\n\n"], "one", "", True),
        ("one\n", ["\n\n"], "one", "\n", False),
        ("abcab", ["abcabc"], "", "abcab", False),
        ("xENDy.", [".", "END"], "x", "", True),
    ],
)
def test_text_that_may_begin_a_stop_text_waits(
    text: str, stop: list[str], shown: str, kept: str, found: bool
) -> None:
    assert cut_at_stop(text, stop, final=False) == (shown, kept, found)


def workers_of(site: Served) -> list[psutil.Process]:
    return psutil.Process(site.process.pid).children(recursive=True)


def test_a_lost_model_process_is_an_error_and_the_next_request_works(models: Path) -> None:
    with serving(models) as site:
        assert site.post("/api/v1/try/tokens", {"text": "x"})[0] == 200
        (worker,) = workers_of(site)
        worker.send_signal(signal.SIGSTOP)  # so that the request is waiting when its process ends
        import threading

        found: list[int] = []
        thread = threading.Thread(
            target=lambda: found.append(site.post("/api/v1/try/tokens", {"text": "y"})[0])
        )
        thread.start()
        time.sleep(0.5)
        assert site.get("/")[0] == 200
        worker.kill()
        thread.join(20)
        assert found == [422]
        assert site.post("/api/v1/try/tokens", {"text": "z"})[0] == 200
        assert [child.pid for child in workers_of(site)] != [worker.pid]


def test_a_client_that_leaves_ends_the_work_it_asked_for(site: Served) -> None:
    import http.client
    from urllib.parse import urlsplit

    connection = http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=60)
    body = json.dumps({"prompt": "The ", "tokens": 2000, "model": ""})
    connection.request("POST", "/api/v1/try/text", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    answer.readline()
    connection.close()
    started = time.monotonic()
    assert site.post("/api/v1/try/tokens", {"text": "soon"})[0] == 200
    assert time.monotonic() - started < 10


def test_the_model_process_ends_with_the_server(models: Path) -> None:
    with serving(models) as site:
        site.post("/api/v1/try/tokens", {"text": "x"})
        (worker,) = workers_of(site)
    until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def test_a_killed_server_leaves_no_model_process(models: Path) -> None:
    with serving(models) as site:
        site.post("/api/v1/try/tokens", {"text": "x"})
        (worker,) = workers_of(site)
        site.process.kill()
        site.process.wait()
        until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)
