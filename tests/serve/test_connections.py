"""Clients that take places and give nothing: others are served all the same. Real sockets, all on this machine.

Linux answers on the whole of 127.0.0.0/8, so that a client can have an address of its own.
"""

import resource
import socket
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest
from oracles.served import KEYS, serving, signed_in, survey_server, token_of, write_settings

from utmost.serve import connections, guard
from utmost.serve.connections import network_of
from utmost.serve.settings import read_settings

REQUEST = "GET /api/datasets HTTP/1.1\r\nHost: localhost\r\n"
BEGUN = f"{REQUEST}X-Slow: ".encode()
ADA = {"Authorization": f"Bearer {KEYS['ada'][0]}"}


@pytest.fixture
def many_files():
    """Both ends of more than a thousand connections are files of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, min(4096, hard) if hard != resource.RLIM_INFINITY else 4096)
    if wanted < 4096:
        pytest.skip("this process may not open 4096 files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def url(tmp_path):
    with survey_server(tmp_path) as found:
        yield found


def connected(url, address="127.0.0.1"):
    """An open connection from an address of our own."""
    place = urlsplit(url)
    return socket.create_connection((place.hostname, place.port), timeout=10, source_address=(address, 0))


def all_of(connection):
    """All that comes until the server closes; a timeout of the socket if it does not."""
    text = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(10_000):
            text += part
    return text


@contextmanager
def half_open(url, addresses):
    """A connection from each address, on which a request was begun and does not end."""
    with ExitStack() as opened:
        made = []
        for address in addresses:
            one = opened.enter_context(connected(url, address))
            try:
                one.sendall(BEGUN)
            except OSError:  # refused already
                continue
            made.append(one)
        yield made


def status(url, address="127.0.0.1", headers=ADA, seconds=10):
    """The status of a reply to somebody at an address."""
    with httpx.Client(transport=httpx.HTTPTransport(local_address=address, verify=False), timeout=seconds) as client:
        return client.get(f"{url}/api/datasets", headers=headers).status_code


@pytest.mark.parametrize("addresses", [1, 20], ids=["from one address", "from twenty"])
def test_a_thousand_half_open_connections_shut_out_nobody(url, many_files, addresses):
    """They hold as many places as an address has, or make way for whoever sends a whole request."""
    assert status(url) == 200
    with half_open(url, [f"127.0.1.{1 + i % addresses}" for i in range(1001)]):
        assert [status(url, f"127.0.2.{i}") for i in range(1, 6)] == [200] * 5


def test_an_address_gets_its_places_back(url):
    """The limit is on connections at one time: refused above it in words, and free again when they end."""
    for _ in range(3):
        with half_open(url, ["127.0.0.5"] * 64):
            with connected(url, "127.0.0.5") as one_more:
                assert one_more.recv(100).startswith(b"HTTP/1.1 429 ")
            assert status(url, "127.0.0.6") == 200
        end = time.monotonic() + 10
        while time.monotonic() < end:  # the server hears of the end a moment later
            try:
                if status(url, "127.0.0.5") == 200:
                    break
            except httpx.HTTPError:
                continue
        else:
            pytest.fail("the places of closed connections stayed taken")


def _is_closed_within(connection, seconds):
    """Whether the server closes a connection on which a byte comes now and then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            connection.sendall(b"x")
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_request_that_does_not_arrive_is_not_waited_for(url, monkeypatch):
    """Silent from the start, begun and silent, a byte now and then: each is closed when its time is over."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    with connected(url) as silent, connected(url) as begun, connected(url) as slow:
        begun.sendall(BEGUN)
        slow.sendall(BEGUN)
        assert _is_closed_within(slow, 8)
        assert all_of(silent) == all_of(begun) == b""


def test_a_connection_is_used_again_and_then_closed(url, monkeypatch):
    """Two requests on one connection, also sent ahead; after the last reply it does not stay open without end."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    whole = f"{REQUEST}Authorization: {ADA['Authorization']}\r\n\r\n".encode()
    with connected(url) as one:
        one.sendall(whole * 2)
        begun = time.monotonic()
        assert all_of(one).count(b"HTTP/1.1 200 OK") == 2
        assert time.monotonic() - begun < 4  # uvicorn's own limit is five seconds


def test_a_body_that_does_not_arrive_is_refused(url, monkeypatch):
    """With 408, whoever sends it; the connection ends."""
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.3)
    with connected(url) as one:
        head = "POST /api/datasets/survey/plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        one.sendall(f"{head}Authorization: {ADA['Authorization']}\r\nContent-Length: 50\r\n\r\n{{".encode())
        reply = all_of(one)
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.3 s" in reply


@pytest.mark.parametrize(
    "both", ["Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4"]
)
def test_a_body_with_two_ends_is_refused(url, both):
    """A proxy that goes by the other header would hand on a hidden request; nothing after it is answered."""
    hidden = f"{REQUEST}Authorization: {ADA['Authorization']}\r\n\r\n"
    with connected(url) as one:
        one.sendall(f"POST /sign-in HTTP/1.1\r\nHost: localhost\r\n{both}\r\n\r\n0\r\n\r\n{hidden}".encode())
        reply = all_of(one)
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert b"Content-Length and Transfer-Encoding" in reply
    assert reply.count(b"HTTP/1.1") == 1


# ---- keys ----


def wrong_key(name, number):
    return {"Authorization": f"Bearer {name}:guess{number}"}


def test_wrong_keys_are_counted_before_they_are_hashed(url, monkeypatch):
    """Of a hundred guesses of one name, from one address, ten cost a hash; other keys, and known ones, still open."""
    hashed = []
    monkeypatch.setattr(guard, "key_matches", lambda *given, fits=guard.key_matches: hashed.append(1) or fits(*given))
    assert status(url) == 200
    statuses = [status(url, headers=wrong_key("ada", i)) for i in range(100)]
    assert statuses[:9] == [401] * 9  # the right key was the first of ten
    assert statuses.count(429) >= 88
    assert len(hashed) <= 13
    assert status(url) == 200
    assert status(url, headers={"Authorization": f"Bearer {KEYS['bob'][0]}"}) == 200


@pytest.mark.parametrize("same", [True, False], ids=["from one address", "each from their own"])
def test_sixty_clients_with_wrong_keys_keep_nobody_out(url, same):
    """An analyst whose key was not seen before is let in meanwhile, and not sent away."""
    with ExitStack() as opened:
        clients = []
        for number in range(60):
            clients.append(opened.enter_context(connected(url, "127.0.0.1" if same else f"127.0.3.{1 + number}")))
            key = wrong_key("mallory", number)["Authorization"]
            clients[-1].sendall(f"{REQUEST}Authorization: {key}\r\nConnection: close\r\n\r\n".encode())
        assert status(url, seconds=60) == 200
        codes = [all_of(client)[9:12] for client in clients]
        assert codes.count(b"401") == (10 if same else 60)
        assert set(codes) <= {b"401", b"429"}


@pytest.mark.parametrize("secure", [False, True])
def test_a_proxys_word_is_believed_only_of_a_proxy(tmp_path, secure):
    """Where a proxy is declared, the addresses it names are counted; else anybody could send other ones."""
    settings = replace(read_settings(write_settings(tmp_path)), secure=secure)
    with serving(settings) as url:
        named = [status(url, headers=wrong_key("ada", i) | {"X-Forwarded-For": f"192.0.2.{i}"}) for i in range(15)]
        assert named.count(401) == (15 if secure else 10)
        stranger = [
            status(url, "127.0.0.9", wrong_key("ada", i) | {"X-Forwarded-For": f"192.0.2.{i}"}) for i in range(15)
        ]
        assert stranger.count(401) == 10
        with half_open(url, ["127.0.0.1"] * 70), connected(url) as one_more:
            one_more.sendall(b"GET /explore HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert one_more.recv(100).startswith(b"HTTP/1.1 200 " if secure else b"HTTP/1.1 429 ")


def test_addresses_of_one_client_count_as_one():
    """IPv6 gives a client a /64; IPv4 in IPv6 is the same client."""
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::9") != network_of("2001:db8:1:3::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") != network_of("192.0.2.2")
    assert network_of("fe80::1%eth0") == network_of("fe80::2")


# ---- cookies ----


def test_a_cookie_opens_nothing_after_sign_out(url):
    """A copy of it, taken while it was good, is as good as none; another browser of the same person stays signed in."""
    with signed_in(url, "ada") as browser, signed_in(url, "ada") as other:
        copy = dict(browser.cookies)
        page = browser.get("/datasets/survey")
        with httpx.Client(base_url=url, cookies=copy) as thief:
            assert thief.get("/datasets/survey").status_code == 200
            assert browser.post("/sign-out", data={"token": token_of(page)}).status_code == 200
            assert thief.get("/datasets/survey").status_code == 401
        with httpx.Client(base_url=url, cookies=copy) as thief:
            asked = {"question": "count", "privacy": "0.1", "token": token_of(page)}
            assert thief.post("/datasets/survey/ask", data=asked).status_code == 403
        assert other.get("/datasets/survey").status_code == 200


def test_signing_in_again_ends_the_cookie_before(url):
    with signed_in(url, "ada") as browser:
        copy = dict(browser.cookies)
        form = {"key": KEYS["bob"][0], "token": token_of(browser.get("/sign-in"))}
        assert browser.post("/sign-in", data=form).status_code == 200
        with httpx.Client(base_url=url, cookies=copy) as thief:
            assert thief.get("/datasets/survey").status_code == 401
