#!/usr/bin/env python3
"""A module that sends events to Tapeworks, with nothing but Python's standard library.

    REDIS_URL=redis://:password@127.0.0.1:6379 python3 producer.py --stream events --count 1000

Redis speaks RESP: a command is an array of byte strings, so a producer needs no client library. Each event carries a
ULID of its own. When an answer is lost the same bytes are sent again, and the kernel stores the event once.
"""
import argparse
import json
import os
import random
import socket
import time
from urllib.parse import urlparse

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(milliseconds: int) -> str:
    value = (milliseconds << 80) | random.getrandbits(80)
    return "".join(CROCKFORD[(value >> shift) & 31] for shift in range(125, -1, -5))


class Redis:
    """Just enough RESP to authenticate and to append."""

    def __init__(self, url: str) -> None:
        self.url = urlparse(url)
        self.connect()

    def connect(self) -> None:
        self.socket = socket.create_connection((self.url.hostname, self.url.port or 6379), timeout=5)
        self.reader = self.socket.makefile("rb")
        if self.url.password:
            credentials = [self.url.username, self.url.password] if self.url.username else [self.url.password]
            self.command("AUTH", *credentials)

    def send(self, *parts) -> None:
        encoded = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
        frames = [b"*%d\r\n" % len(encoded)] + [b"$%d\r\n%s\r\n" % (len(part), part) for part in encoded]
        self.socket.sendall(b"".join(frames))

    def answer(self) -> bytes:
        line = self.reader.readline()
        if not line:
            raise ConnectionError("Redis closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return self.reader.read(int(rest) + 2)[:-2]
        return rest

    def command(self, *parts) -> bytes:
        self.send(*parts)
        return self.answer()


def envelope(source: str, connection: str, symbol: str, sequence: int) -> bytes:
    now = time.time_ns()
    event = {
        "event_type": "trade",
        "source": source,
        "symbol": symbol,
        # Python's integers are exact, so nanoseconds can travel as JSON integers.
        "ts_event": now - 2_000_000,
        "ts_collector": now,
        "payload": {"price": f"{64000 + random.random() * 100:.2f}", "amount": "0.015", "sequence": sequence},
        "meta": {"connection_id": connection, "module_version": "1.0.0"},
    }
    message = {"type": "data", "version": "1.0.0", "id": ulid(now // 1_000_000), "ts": now, "data": event}
    return json.dumps(message, separators=(",", ":")).encode()


def append(redis: Redis, stream: str, body: bytes) -> str:
    for attempt in range(10):
        try:
            return redis.command("XADD", stream, "*", "envelope", body).decode()
        except (ConnectionError, OSError):
            time.sleep(min(5.0, 0.1 * 2**attempt) * random.random())
            try:
                redis.connect()
            except OSError:
                continue
    raise SystemExit("Redis does not answer")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--url", default=os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
    arguments.add_argument("--stream", default="events")
    arguments.add_argument("--count", type=int, default=10)
    options = arguments.parse_args()
    redis = Redis(options.url)
    for sequence in range(options.count):
        body = envelope("example", "example-1", random.choice(["BTC-USD", "ETH-USD"]), sequence)
        entry = append(redis, options.stream, body)
    print(json.dumps({"sent": options.count, "last_entry": entry}))


if __name__ == "__main__":
    main()
