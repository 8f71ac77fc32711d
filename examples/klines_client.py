"""Reads the newest bars of a symbol page by page, then streams what changes.

Needs grpcio and protobuf, and the messages made from the proto file:

    pip install grpcio protobuf grpcio-tools
    python -m grpc_tools.protoc -I src/protocols/proto --python_out=. klines.proto
    PYTHONPATH=. python examples/klines_client.py binance BTCUSDT 1m
"""

import argparse
import datetime
import sys

import grpc
import klines_pb2

UTC = datetime.timezone.utc


def open_channel(address, ca):
    options = [("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 5_000)]
    if ca is None:
        return grpc.insecure_channel(address, options)
    with open(ca, "rb") as file:
        return grpc.secure_channel(address, grpc.ssl_channel_credentials(file.read()), options)


def headers(token_file):
    if token_file is None:
        return []
    with open(token_file, encoding="utf-8") as file:
        return [("authorization", f"Bearer {file.read().strip()}")]


def line(bar):
    time = datetime.datetime.fromtimestamp(bar.open_time_us / 1e6, UTC).isoformat()
    prices = f"{bar.open_exact} {bar.high_exact} {bar.low_exact} {bar.close_exact}"
    quality = klines_pb2.Quality.Name(bar.quality)
    state = f"closed r{bar.revision} {quality}" if bar.closed else "open"
    return f"{bar.symbol} {bar.interval} {time} {prices} {bar.volume_exact} x{bar.trades} {state}"


def history(ask, options, metadata):
    """The newest bars, oldest first. Pages come newest first, each from where the last one ended."""
    bars, page = [], ""
    while len(bars) < options.history:
        request = klines_pb2.HistoryRequest(
            venue=options.venue,
            symbol=options.symbol,
            interval=options.interval,
            limit=min(1000, options.history - len(bars)),
            page=page,
        )
        found = ask(request, metadata=metadata)
        bars.extend(found.bars)
        page = found.next_page
        if page == "":
            break
    return reversed(bars)


def main():
    parser = argparse.ArgumentParser(description="Print bars.")
    parser.add_argument("venue", nargs="?", default="binance")
    parser.add_argument("symbol", nargs="?", default="BTCUSDT")
    parser.add_argument("interval", nargs="?", default="1m")
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--ca")
    parser.add_argument("--token-file")
    parser.add_argument("--history", type=int, default=10, help="bars of the past to print first")
    parser.add_argument("--closed", action="store_true", help="only closed bars and their revisions")
    parser.add_argument("--count", type=int, default=0, help="end after so many bars of the stream")
    options = parser.parse_args()

    channel = open_channel(options.address, options.ca)
    metadata = headers(options.token_file)
    subscribe = channel.unary_stream(
        "/klines.Klines/Subscribe",
        request_serializer=klines_pb2.SubscribeRequest.SerializeToString,
        response_deserializer=klines_pb2.Update.FromString,
    )
    ask = channel.unary_unary(
        "/klines.Klines/History",
        request_serializer=klines_pb2.HistoryRequest.SerializeToString,
        response_deserializer=klines_pb2.HistoryPage.FromString,
    )
    request = klines_pb2.SubscribeRequest(
        venue=options.venue,
        symbols=[options.symbol],
        intervals=[options.interval],
        closed_only=options.closed,
    )
    received = 0
    try:
        # Subscribe first: what changes while the history is read comes as well, and a bar is known by its opening.
        updates = subscribe(request, metadata=metadata)
        for bar in history(ask, options, metadata):
            print(line(bar), flush=True)
        for update in updates:
            for bar in update.bars:
                print(line(bar), flush=True)
                received += 1
            if options.count and received >= options.count:
                updates.cancel()
                return 0
    except grpc.RpcError as error:
        print(f"{error.code().name}: {error.details()}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
