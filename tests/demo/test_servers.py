"""Starting and ending the demo's servers."""

from __future__ import annotations

import socket
import threading
import time

import httpx
import pytest

from experiments.demo.servers import DemoServerError, start_demo_services


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith(("demo", "waitress"))}


def get(url: str) -> int:
    with httpx.Client(trust_env=False) as client:
        return client.get(url).status_code


def test_both_servers_answer_when_the_start_returns_and_leave_nothing_behind() -> None:
    before = threads()
    services = start_demo_services()
    assert get(f"{services.service_url}/capabilities") == 200
    assert get(f"{services.messages_url}/v1/messages") == 405
    services.close()
    services.close()
    for url in (services.service_url, services.messages_url):
        with pytest.raises(httpx.ConnectError):
            get(url)
    assert threads() - before <= {"demo-index"}


def test_a_port_can_be_used_again_at_once_after_closing() -> None:
    first = start_demo_services()
    port = first.service.port
    get(f"{first.service_url}/capabilities")
    first.close()
    start_demo_services(service_port=port).close()


@pytest.mark.parametrize("which", ["service", "messages"])
def test_a_busy_port_is_one_sentence_and_nothing_is_left_running(which: str) -> None:
    before = threads()
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        ports = {"service_port": port} if which == "service" else {"messages_port": port}
        with pytest.raises(DemoServerError) as refused:
            start_demo_services("127.0.0.1", **ports)
    name = {"service": "demo service", "messages": "demo judge"}[which]
    assert str(refused.value) == f"The {name} cannot listen on 127.0.0.1 port {port}: it is in use."
    assert threads() == before


@pytest.mark.parametrize(("host", "port"), [("no such host", 0), ("127.0.0.1", 99_999)])
def test_an_address_that_does_not_exist_is_one_sentence(host: str, port: int) -> None:
    with pytest.raises(DemoServerError, match=r"^The demo service cannot listen on .*\.$"):
        start_demo_services(host, port)


def test_an_answer_on_its_way_still_arrives_while_the_servers_close() -> None:
    services = start_demo_services(pace=3)
    with httpx.Client(trust_env=False, base_url=services.service_url) as client:
        session_id = client.post("/prepare", json={"setup": {"kind": "none"}}).json()["session_id"]
        body = {"session_id": session_id, "text": "hello", "idempotency_key": "k"}
        statuses: list[int] = []
        asking = threading.Thread(
            target=lambda: statuses.append(client.post("/submit", json=body).status_code)
        )
        asking.start()
        time.sleep(0.03)
        services.close()
        asking.join(timeout=5)
    assert statuses == [200]
