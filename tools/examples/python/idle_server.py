#!/usr/bin/env python3
# SPDX-License-Identifier: MIT-0
"""An echo server that ends a connection after 30 seconds of silence, and a test of that.

The test takes no time: the server gets timeouts with a virtual clock.
"""
import argparse
import asyncio
import sys

import twheel

IDLE_S = 30


class Echo(asyncio.Protocol):
    """A connection, with a timeout of its own."""

    def __init__(self, timeouts, connections):
        self.timeouts = timeouts
        self.connections = connections

    def connection_made(self, transport):
        self.transport = transport
        self.connections.add(transport)
        self.idle = self.timeouts.call_later(IDLE_S, transport.close)

    def data_received(self, data):
        self.idle.extend(IDLE_S)
        self.transport.write(data)

    def connection_lost(self, _):
        self.idle.cancel()
        self.connections.discard(self.transport)


async def serve(path):
    connections = set()
    with twheel.Timeouts() as timeouts:
        server = await asyncio.get_running_loop().create_unix_server(
            lambda: Echo(timeouts, connections), path)
        try:
            # Until Ctrl-C. From Python 3.12, serve_forever() would wait for all connections then.
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            # Before the timeouts are closed: none of them is extended after that.
            for transport in connections:
                transport.abort()


class Transport:
    """What the test has in the place of a connection."""
    closed = False

    def close(self):
        self.closed = True

    def write(self, data):
        pass


def test():
    timeouts = twheel.Timeouts(virtual=True)
    silent, busy = Transport(), Transport()
    protocols = [Echo(timeouts, set()), Echo(timeouts, set())]
    for protocol, transport in zip(protocols, (silent, busy)):
        protocol.connection_made(transport)
    timeouts.advance(20)
    protocols[1].data_received(b"hello")
    timeouts.advance(9.999)
    assert not silent.closed
    timeouts.advance(0.001)
    assert silent.closed and not busy.closed
    timeouts.advance(20)
    assert busy.closed
    print("its timeouts are right")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("path", metavar="PATH", nargs="?",
                      help="serve a socket of this name, until Ctrl-C")
    what.add_argument("--test", action="store_true", help="test the timeouts")
    options = parser.parse_args()
    if options.test:
        test()
        return
    try:
        asyncio.run(serve(options.path))
    except KeyboardInterrupt:
        pass
    except OSError as error:
        sys.exit(f"{parser.prog}: {options.path}: {error}")


if __name__ == "__main__":
    main()
