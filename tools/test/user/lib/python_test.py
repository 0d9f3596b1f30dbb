# SPDX-License-Identifier: GPL-2.0-only
"""The module twheel for Python. With --modules, no test; but the files of all modules that
they use are printed.
"""
import asyncio
import contextvars
import errno
import os
import sys
import time
import traceback

import twheel

CROWD = 300
PATIENCE_S = 120

MOST = 1000


class Due:
    """A timeout that checks that it comes when it should."""

    def __init__(self, timeouts, delay, then=None):
        self.fired, self.then = 0, then
        self.due = time.monotonic() + delay
        self.timeout = timeouts.call_later(delay, self.over, self)

    def extend(self, delay):
        due = time.monotonic() + delay
        self.timeout.extend(delay)
        self.due = max(self.due, due)

    def over(self, argument):
        assert argument is self
        assert time.monotonic() >= self.due, "early"
        assert not self.timeout.active()
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


async def comes_on_time(timeouts):
    stall(0.02)
    all_due = [Due(timeouts, i % 50 * 0.001) for i in range(CROWD)]
    await until(lambda: all(due.fired for due in all_due))
    assert all(due.fired == 1 for due in all_due)


async def cancelled_stay_silent(timeouts):
    all_due = []

    def cancel_all(_):
        for due in all_due:
            due.timeout.cancel()
            assert not due.timeout.active()

    all_due += [Due(timeouts, 0.01 if i % 2 else 3600, cancel_all) for i in range(CROWD)]
    for due in all_due[::2]:
        due.timeout.cancel()
    stall(0.02)
    await until(lambda: any(due.fired for due in all_due))
    await asyncio.sleep(0.02)
    assert sum(due.fired for due in all_due) == 1


async def again_in_callback(timeouts):
    def again(due):
        if due.fired < 10:
            due.timeout.extend(due.fired % 3 * 0.001)
    all_due = [Due(timeouts, 0.001, again) for _ in range(20)]
    await until(lambda: all(due.fired == 10 for due in all_due))


async def none_starves(timeouts):
    """Many that are due at once, again and again."""
    going = True

    def again(due):
        if going:
            due.timeout.extend(0)
    all_due = [Due(timeouts, 0, again) for _ in range(CROWD)]
    await asyncio.sleep(0.02)
    going = False
    await until(lambda: not any(due.timeout.active() for due in all_due))


async def extended_come_later(timeouts):
    all_due = [Due(timeouts, 0.04) for _ in range(CROWD)]
    for _ in range(5):
        await asyncio.sleep(0.01)
        for due in all_due:
            if due.timeout.active():
                due.extend(0.04)
                due.timeout.extend(0)
    await until(lambda: not any(due.timeout.active() for due in all_due))
    assert all(due.fired == 1 for due in all_due)


async def exceptions_are_reported(timeouts):
    seen = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: seen.append(what))
    timeouts.call_later(0.001, lambda: 1 // 0)
    later = Due(timeouts, 0.002)
    await until(lambda: later.fired)
    assert isinstance(seen[0]["exception"], ZeroDivisionError)


async def has_a_limit(timeouts):
    all_due = [Due(timeouts, 3600) for _ in range(MOST)]
    try:
        Due(timeouts, 3600)
        assert False
    except OSError as error:
        assert error.errno == errno.ENOSPC
    assert all(due.timeout.active() for due in all_due)
    all_due[0].timeout.cancel()
    soon = Due(timeouts, float("inf"))
    soon.timeout.cancel()
    soon = Due(timeouts, 0.001)
    await until(lambda: soon.fired)


async def closed_with_timeouts(timeouts):
    all_due = [Due(timeouts, 0 if i % 2 else 3600) for i in range(CROWD)]
    stall(0.005)
    timeouts.close()
    await asyncio.sleep(0.02)
    assert not any(due.fired for due in all_due)


async def context_is_kept(timeouts):
    variable = contextvars.ContextVar("variable", default=0)
    seen = []
    variable.set(1)
    timeouts.call_later(0.001, lambda: seen.append(variable.get()))
    variable.set(2)
    await until(lambda: seen)
    assert seen == [1]


def raises(error, call, *args, **options):
    try:
        call(*args, **options)
        assert False, "no error"
    except OSError as raised:
        assert raised.errno == error, raised


async def wheel_by_itself(_):
    with twheel.Wheel(max_timers=8, tick=0.001, virtual=True) as wheel:
        timers = [wheel.arm(3600, 7), wheel.arm(3600), wheel.arm(3600, 9)]
        assert wheel.fileno() > 2
        assert wheel.extend(timers[0], 3601) and not wheel.extend(timers[0], 0.001)
        assert wheel.cancel(timers[1]) and not wheel.cancel(timers[1])
        wheel.modify(timers[2], 0.01)
        wheel.advance(0.0099)
        assert wheel.events() == [] and wheel.events(timeout=0.01) == []
        wheel.advance(0.0001)
        wheel.modify(timers[0], 0.01)
        wheel.advance(0.01)
        events = wheel.events(timeout=None)
        assert [event.cookie for event in events] == [9, 7]
        assert [event.id for event in events] == [timers[2], timers[0]]
        assert [event.deadline_ns for event in events] == [10000000, 20000000]
        assert events[0].now_ns == 20000000 and events[0].count == 1
        raises(errno.ENOENT, wheel.extend, timers[0], 1)
        raises(errno.ENOENT, wheel.modify, timers[0], 1)
        wheel.arm(1, 5, period=1)
        wheel.arm(float("inf"))
        wheel.advance(3.5)
        assert [(event.cookie, event.count) for event in wheel.events(most=1)] == [(5, 3)]
        assert wheel.events() == []
    try:
        wheel.arm(1)
        assert False
    except ValueError:
        pass


async def wheel_waits(_):
    with twheel.Wheel() as wheel:
        start = time.monotonic()
        assert wheel.events(timeout=0.05) == []
        assert time.monotonic() >= start + 0.05
        wheel.arm(0.02, 1)
        assert [event.cookie for event in wheel.events(timeout=None)] == [1]
        assert time.monotonic() >= start + 0.07
        raises(errno.EINVAL, wheel.advance, 1)


async def wrong_is_said(_):
    descriptor = os.open("/", os.O_RDONLY)
    os.close(descriptor)
    raises(errno.ERANGE, twheel.Timeouts, tick=1e-9)
    with twheel.Wheel() as wheel:
        assert wheel.fileno() == descriptor


SCENARIOS = (comes_on_time, cancelled_stay_silent, again_in_callback, none_starves,
             extended_come_later, exceptions_are_reported, has_a_limit, closed_with_timeouts,
             context_is_kept)


async def run(scenario):
    timeouts = twheel.Timeouts(max_timers=MOST) if scenario in SCENARIOS else None
    # An assertion in a callback fails the test.
    failed = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, what: failed.append(what["exception"]))
    await asyncio.wait_for(scenario(timeouts), PATIENCE_S)
    if timeouts and scenario is not closed_with_timeouts:
        timeouts.close()
    for error in failed:
        raise error


def modules():
    """What the tests import, they import at once or when they first run or fail."""
    asyncio.run(until(lambda: True))
    asyncio.run(asyncio.wait_for(asyncio.sleep(0), 1))
    try:
        raises(0, os.open, "/nowhere", os.O_RDONLY)
    except AssertionError:
        traceback.format_exc()
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None):
            print(module.__file__)


def main():
    if sys.argv[1:] == ["--modules"]:
        modules()
        return
    tests = SCENARIOS + (wheel_by_itself, wheel_waits, wrong_is_said)
    print(f"1..{len(tests)}")
    bad = 0
    for number, scenario in enumerate(tests, 1):
        name = scenario.__name__
        try:
            asyncio.run(run(scenario))
            print(f"ok {number} - {name}", flush=True)
        except Exception:
            print("".join("# " + line + "\n" for line in
                          traceback.format_exc().splitlines()), end="")
            print(f"not ok {number} - {name}", flush=True)
            bad = 1
    sys.exit(bad)


main()
