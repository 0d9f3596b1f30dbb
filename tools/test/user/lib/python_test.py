# SPDX-License-Identifier: GPL-2.0-only
"""The module twheel for Python. With --modules, only what needs no device; then the files
of all modules in use are printed.
"""
import asyncio
import errno
import sys
import time
import traceback

import twheel

CROWD = 300
PATIENCE_S = 120

MAPPED = {"max_timers": 1000}
CALLS = {"max_timers": 1000, "mapping": False}
OWN = {"max_timers": 1000, "path": "/nowhere"}


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
    all_due = [Due(timeouts, 3600) for _ in range(1000)]
    try:
        Due(timeouts, 3600)
        assert not timeouts.wheel
    except OSError as error:
        assert timeouts.wheel and error.errno == errno.ENOSPC
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


async def wheel_by_itself(_):
    with twheel.Wheel(max_timers=8, tick=0.001) as wheel:
        timers = [wheel.arm(3600, 7), wheel.arm(3600), wheel.arm(3600, 9)]
        assert wheel.fileno() > 2
        assert wheel.extend(timers[0], 3601) and not wheel.extend(timers[0], 0.001)
        assert wheel.cancel(timers[1]) and not wheel.cancel(timers[1])
        wheel.modify(timers[2], 0.01)
        events = [wheel.next(timeout=None)]
        wheel.modify(timers[0], 0.01)
        events.append(wheel.next(timeout=60))
        assert [event.cookie for event in events] == [9, 7]
        assert all(event.fired_ns >= event.deadline_ns for event in events)
        assert wheel.next() is None and list(wheel.events()) == []
        try:
            wheel.extend(timers[0], 1)
            assert False
        except OSError as error:
            assert error.errno == errno.ENOENT
    try:
        wheel.arm(1)
        assert False
    except ValueError:
        pass


async def wrong_is_said(_):
    for options, error in (({"path": "/dev/null"}, errno.ENOTTY),
                           ({"tick": 1e-9}, errno.EINVAL)):
        try:
            twheel.Timeouts(**options)
            assert False
        except OSError as raised:
            assert raised.errno == error, raised


SCENARIOS = (comes_on_time, cancelled_stay_silent, again_in_callback, none_starves,
             extended_come_later, exceptions_are_reported, has_a_limit, closed_with_timeouts)


async def run(scenario, options):
    timeouts = options and twheel.Timeouts(**{name: value for name, value in options.items()})
    if timeouts:
        assert bool(timeouts.wheel) == ("path" not in options)
    # An assertion in a callback fails the test.
    failed = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, what: failed.append(what["exception"]))
    await asyncio.wait_for(scenario(timeouts), PATIENCE_S)
    if timeouts and scenario is not closed_with_timeouts:
        timeouts.close()
    for error in failed:
        raise error


def main():
    modules = sys.argv[1:] == ["--modules"]
    wheres = (("own", OWN),) if modules else (("mapped", MAPPED), ("calls", CALLS),
                                              ("own", OWN))
    tests = [(f"{where}_{scenario.__name__}", scenario, options)
             for where, options in wheres for scenario in SCENARIOS]
    if not modules:
        tests += [("wheel_by_itself", wheel_by_itself, None),
                  ("wrong_is_said", wrong_is_said, None)]
    print(f"1..{len(tests)}")
    bad = 0
    for number, (name, scenario, options) in enumerate(tests, 1):
        try:
            asyncio.run(run(scenario, options))
            print(f"ok {number} - {name}", flush=True)
        except Exception:
            print("".join("# " + line + "\n" for line in
                          traceback.format_exc().splitlines()), end="")
            print(f"not ok {number} - {name}", flush=True)
            bad = 1
    if modules:
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None):
                print(module.__file__)
    sys.exit(bad)


main()
