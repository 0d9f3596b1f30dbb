#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Nanoseconds of timeouts in Python: those of the module twheel, beside the loop's own.

Before each figure so many others are pending as its column says. What the loop puts off to its
next round, as taking cancelled handles out, is counted. The peers take turns, and the median of
the rounds is shown.

    make -C tools lib
    PYTHONPATH=tools/python LD_LIBRARY_PATH=tools/lib tools/bench/timeouts.py [ROUNDS]
"""
import asyncio
import statistics
import sys
import time

import twheel

COUNTS = (0, 1000, 100000)
CALLS = 20000
CONNECTIONS = 1000


def nothing():
    pass


def start_cancel(peer):
    for _ in range(CALLS):
        peer.call_later(30, nothing).cancel()


def keep_cancel(peer):
    """Handles are kept, and then all are cancelled."""
    for handle in [peer.call_later(30, nothing) for _ in range(CALLS)]:
        handle.cancel()


def renew(peer):
    """What a server does for a packet of each connection."""
    handles = [peer.call_later(30, nothing) for _ in range(CONNECTIONS)]
    extends = hasattr(handles[0], "extend")
    yield
    for _ in range(CALLS // CONNECTIONS):
        for i, handle in enumerate(handles):
            if extends:
                handle.extend(30)
            else:
                handle.cancel()
                handles[i] = peer.call_later(30, nothing)
    yield
    for handle in handles:
        handle.cancel()


def fire(peer):
    for _ in range(CALLS):
        peer.call_later(0, nothing)


async def measure(kind, peer):
    """Nanoseconds a call, the loop's next round included."""
    steps = renew(peer) if kind is renew else None
    if steps:
        next(steps)
    await asyncio.sleep(0.01)
    ended = asyncio.get_running_loop().create_future()
    start = time.perf_counter_ns()
    if steps:
        next(steps)
    else:
        kind(peer)
    if kind is fire:
        # After all the others: it is due in a later tick.
        peer.call_later(0.002, ended.set_result, None)
        await ended
    else:
        await asyncio.sleep(0)
    ns = (time.perf_counter_ns() - start) / CALLS
    if steps:
        list(steps)
    return ns


async def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    loop = asyncio.get_running_loop()
    print(f"{'pending':>8}{'':14}{'wheel':>8}{'loop':>8}")
    for count in COUNTS:
        with twheel.Timeouts() as timeouts:
            peers = (timeouts, loop)
            held = [peer.call_later(3600 + i / 100, nothing)
                    for peer in peers for i in range(count)]
            for name, kind in (("start, cancel", start_cancel),
                               ("keep, cancel", keep_cancel), ("renew", renew),
                               ("start, fire", fire)):
                figures = [[await measure(kind, peer) for peer in peers]
                           for _ in range(rounds)]
                medians = [statistics.median(column) for column in zip(*figures)]
                print(f"{count:8} {name:13}{medians[0]:8.0f}{medians[1]:8.0f}", flush=True)
            for handle in held:
                handle.cancel()


asyncio.run(main())
