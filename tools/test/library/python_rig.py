# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of the module twheel for Python share."""
import asyncio
import sys
import time
import traceback

import twheel

CROWD = 300
MOST = 1000


class Due:
    """A timeout that checks that it comes when it should."""

    def __init__(self, timeouts, delay, then=None):
        self.fired, self.then = 0, then
        self.due = time.monotonic() + delay
        self.timeout = timeouts.call_later(delay, self.over, self)

    def extend(self, delay):
        due = time.monotonic() + delay
        if self.timeout.extend(delay):
            self.due = max(self.due, due)

    def over(self, argument):
        assert argument is self
        assert time.monotonic() >= self.due, "early"
        assert self.timeout.when() <= time.monotonic()
        self.fired += 1
        if self.then:
            self.then(self)


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)


def stall(seconds):
    """Let the loop's idea of the time become old."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def raises(error, call, *args, **options):
    """Returns the exception."""
    try:
        call(*args, **options)
    except error as raised:
        return raised
    raise AssertionError("no " + error.__name__)


def over(timeouts):
    """All calls of closed timeouts, or of the parent's."""
    raises(RuntimeError, timeouts.time)
    assert "virtual" not in str(raises(RuntimeError, timeouts.advance, 1))
    raises(RuntimeError, timeouts.__enter__)
    raises(RuntimeError, timeouts.call_later, 1, stall)
    raises(RuntimeError, timeouts.call_at, 1, stall)


async def run(test):
    with twheel.Timeouts(max_pending=MOST) as timeouts:
        # An assertion in a callback fails the test.
        failed = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, what: failed.append(what["exception"]))
        await test(timeouts)
    for error in failed:
        raise error


def main(tests):
    bad = 0
    for test in tests:
        try:
            asyncio.run(run(test))
            print(f"ok {test.__name__}", flush=True)
        except Exception:
            traceback.print_exc()
            print(f"not ok {test.__name__}", flush=True)
            bad = 1
    sys.exit(bad)
