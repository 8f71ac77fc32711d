"""Streams merged books and prints one line a summary.

Needs grpcio and protobuf, and the messages made from the proto file:

    pip install grpcio protobuf grpcio-tools
    python -m grpc_tools.protoc -I src/protocols/proto --python_out=. orderbook.proto
    PYTHONPATH=. python examples/grpc_client.py BTC-USD ETH-USD

`protoc -I src/protocols/proto --python_out=. orderbook.proto` makes the same file. With TLS and a token:

    PYTHONPATH=. python examples/grpc_client.py --address market.example:50051 --ca secrets/tls_cert --token-file secrets/token BTC-USD
"""

import argparse
import sys
import time

import grpc
import orderbook_pb2

METHOD = "/orderbook.OrderbookAggregator/BookSummary"
# What a second try can mend; anything else is ours to mend.
PASSING = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.CANCELLED}


def open_channel(address, ca):
    # A connection that died without a word is found by the pings.
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


def show(levels):
    if not levels:
        return "-"
    best = levels[0]
    return f"{best.amount_exact} @ {best.price_exact} {best.exchange}"


def line(summary):
    missed = f"  ({summary.skipped} skipped)" if summary.skipped else ""
    return (
        f"{summary.symbol} #{summary.sequence}  {show(summary.bids)}  |  {show(summary.asks)}"
        f"  spread {summary.spread_exact}{missed}"
    )


def main():
    parser = argparse.ArgumentParser(description="Print merged order books.")
    parser.add_argument("symbols", nargs="*", help="instruments such as BTC-USD; none for the default one")
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--ca")
    parser.add_argument("--token-file")
    parser.add_argument("--count", type=int, default=0, help="end after so many summaries")
    options = parser.parse_args()

    channel = open_channel(options.address, options.ca)
    book_summary = channel.unary_stream(
        METHOD,
        request_serializer=orderbook_pb2.SummaryRequest.SerializeToString,
        response_deserializer=orderbook_pb2.Summary.FromString,
    )
    # At most ten summaries of a symbol in a second, always the latest.
    request = orderbook_pb2.SummaryRequest(symbols=options.symbols, depth=5, min_interval_ms=100)
    received = 0
    wait = 0.25
    while True:
        try:
            for summary in book_summary(request, metadata=headers(options.token_file)):
                print(line(summary), flush=True)
                received += 1
                wait = 0.25
                if received == options.count:
                    return 0
        except grpc.RpcError as error:
            print(f"{error.code().name}: {error.details()}", file=sys.stderr)
            if error.code() not in PASSING:
                return 1
        time.sleep(wait)
        wait = min(10.0, wait * 2)


if __name__ == "__main__":
    sys.exit(main())
