# SPDX-License-Identifier: GPL-2.0-only
"""The module twheel for Python, on the library that the dynamic linker finds."""
import asyncio
import contextvars
import errno
import functools
import gc
import math
import os
import random
import sys
import threading
import time
import traceback
import weakref

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
    raises(RuntimeError, timeouts.advance, 1)
    raises(RuntimeError, timeouts.call_later, 1, stall)
    raises(RuntimeError, timeouts.call_at, 1, stall)


async def comes_on_time(timeouts):
    stall(0.02)
    all_due = [Due(timeouts, i % 50 * 0.001) for i in range(CROWD)]
    await until(lambda: all(due.fired for due in all_due))
    assert all(due.fired == 1 for due in all_due)


async def comes_at_a_time(timeouts):
    seen = []
    when = asyncio.get_running_loop().time() + 0.02
    timeout = timeouts.call_at(when, seen.append, 1)
    assert abs(timeout.when() - when) < 1e-6 and not timeout.cancelled()
    assert abs(timeouts.time() - time.monotonic()) < 1
    timeouts.call_at(0, seen.append, 0)
    assert not seen
    await until(lambda: len(seen) == 2)
    assert seen == [0, 1] and time.monotonic() >= when


async def cancelled_stay_silent(timeouts):
    all_due = []

    def cancel_all(_):
        for due in all_due:
            due.timeout.cancel()

    all_due += [Due(timeouts, 0.01 if i % 2 else 3600, cancel_all) for i in range(CROWD)]
    for due in all_due[::2]:
        due.timeout.cancel()
        assert due.timeout.cancelled()
        due.timeout.cancel()
    stall(0.02)
    await until(lambda: any(due.fired for due in all_due))
    await asyncio.sleep(0.02)
    assert sum(due.fired for due in all_due) == 1
    # What has been called is not cancelled.
    assert sum(not due.timeout.cancelled() for due in all_due) == 1


async def again_in_callback(timeouts):
    def again(due):
        if due.fired < 10:
            due.due = time.monotonic() + due.fired % 3 * 0.001
            due.timeout = timeouts.call_later(due.fired % 3 * 0.001, due.over, due)
    all_due = [Due(timeouts, 0.001, again) for _ in range(20)]
    await until(lambda: all(due.fired == 10 for due in all_due))


async def none_starves(timeouts):
    """Many that are due at once, again and again."""
    going, count = True, 0

    def again():
        nonlocal count
        count += 1
        if going:
            timeouts.call_later(0, again)
    for _ in range(CROWD):
        timeouts.call_later(0, again)
    await asyncio.sleep(0.02)
    going, seen = False, -1
    while seen != count:
        seen = count
        await asyncio.sleep(0.02)
    assert count > CROWD


async def extended_come_later(timeouts):
    all_due = [Due(timeouts, 0.04) for _ in range(CROWD)]
    for _ in range(5):
        await asyncio.sleep(0.01)
        for due in all_due:
            if not due.fired:
                due.extend(0.04)
                assert not due.timeout.extend(0) or time.monotonic() >= due.due
    await until(lambda: all(due.fired for due in all_due))
    await asyncio.sleep(0.05)
    assert all(due.fired == 1 for due in all_due)
    raises(RuntimeError, all_due[0].timeout.extend, 1)
    due = Due(timeouts, 1)
    due.timeout.cancel()
    raises(RuntimeError, due.timeout.extend, 1)


async def extended_at_the_last_moment(timeouts):
    """All have expired, and the first one that is called extends the others."""
    all_due, others = [], []

    def extend_others(due):
        if not others:
            others.extend(other for other in all_due if other is not due)
            for other in others:
                other.extend(0.03)
    all_due += [Due(timeouts, 0.001, extend_others) for _ in range(CROWD)]
    stall(0.005)
    await until(lambda: all(due.fired for due in all_due))
    assert all(due.fired == 1 for due in all_due)


async def exceptions_are_reported(timeouts):
    seen = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: seen.append(what))

    def divide(by):
        return 1 // by
    timeouts.call_later(0.001, divide, 0)
    timeouts.call_later(0.001, functools.partial(divide, by=0))
    later = Due(timeouts, 0.002)
    await until(lambda: later.fired and len(seen) == 2)
    for what in seen:
        assert isinstance(what["exception"], ZeroDivisionError)
        assert "divide" in what["message"] and "divide" in repr(what["handle"])


async def has_a_limit(timeouts):
    all_due = [Due(timeouts, 3600) for _ in range(MOST)]
    assert raises(OSError, Due, timeouts, 3600).errno == errno.ENOSPC
    all_due[0].timeout.cancel()
    never = timeouts.call_later(math.inf, stall)
    assert never.when() > 9e9
    never.cancel()
    soon = Due(timeouts, 0.001)
    await until(lambda: soon.fired)


async def closed_with_timeouts(timeouts):
    all_due = [Due(timeouts, 0 if i % 2 else 3600) for i in range(CROWD)]
    stall(0.005)
    timeouts.close()
    timeouts.close()
    await asyncio.sleep(0.02)
    assert not any(due.fired for due in all_due)
    all_due[0].timeout.cancel()
    raises(RuntimeError, timeouts.call_later, 1, stall)


async def closed_by_a_callback(_):
    for virtual in (False, True):
        timeouts = twheel.Timeouts(virtual=virtual)
        all_due, seen = [], []

        def close():
            seen.append(1)
            timeouts.close()
        all_due += [timeouts.call_later(0, close) for _ in range(CROWD)]
        if virtual:
            timeouts.advance(0.01)
        await until(lambda: seen)
        await asyncio.sleep(0.02)
        assert len(seen) == 1
        assert sum(timeout.cancelled() for timeout in all_due) == CROWD - 1
        over(timeouts)
        for timeout in all_due:
            raises(RuntimeError, timeout.extend, 1)


async def context_is_kept(timeouts):
    variable = contextvars.ContextVar("variable", default=0)
    seen = []
    variable.set(1)
    other = contextvars.copy_context()
    timeouts.call_later(0.001, lambda: seen.append(variable.get()))
    variable.set(2)
    timeouts.call_later(0.002, lambda: seen.append(variable.get()), context=other)
    await until(lambda: len(seen) == 2)
    assert seen == [1, 1]


async def nothing_is_kept(timeouts):
    """What a timeout refers to goes with it."""
    class Something:
        def call(self):
            pass
    something = [Something(), Something()]
    seen = [weakref.ref(it) for it in something]
    cancelled = timeouts.call_later(3600, something[0].call)
    cancelled.cancel()
    timeouts.call_later(0.001, something[1].call)
    something.clear()
    await asyncio.sleep(0.05)
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


async def virtual_time(_):
    """Each callback is called at its time, and what it starts as well."""
    with twheel.Timeouts(virtual=True) as timeouts:
        seen = []

        def note(name):
            seen.append((name, round(timeouts.time(), 3)))

        def beat(left):
            note("beat")
            if left:
                timeouts.call_later(10, beat, left - 1)
        timeouts.call_later(10, beat, 2)
        idle = timeouts.call_later(15, note, "idle")
        timeouts.call_at(86400, note, "day")
        assert timeouts.time() == 0
        timeouts.advance(9.999)
        assert not seen and idle.extend(15)
        timeouts.advance(50)
        assert seen == [("beat", 10), ("beat", 20), ("idle", 24.999), ("beat", 30)]
        timeouts.advance(86400 - timeouts.time())
        assert seen[-1] == ("day", 86400) and len(seen) == 5
        # Of two at once, one cancels the other.
        pair = [timeouts.call_later(1, lambda i=i: (note(i), pair[1 - i].cancel()))
                for i in range(2)]
        timeouts.advance(1)
        assert len(seen) == 6
        timeouts.call_later(0, note, "now")
        timeouts.advance(0)
        assert seen[-1] == ("now", timeouts.time())

        def again():
            seen.append(0)
            timeouts.call_later(0, again)
        seen.clear()
        again()
        timeouts.advance(0.01)
        assert 5 < len(seen) < 15
    raises(RuntimeError, timeouts.advance, 1)


async def virtual_time_is_exact(_):
    """What is called after a delay is called by advance() of that delay."""
    chance = random.Random(1)
    delays = [i / 1000 for i in range(1, 20000)] + [i / 10 for i in range(1, 36001)]
    delays += [1 / 3, 0.1 + 0.2, 1e-9, 86400 * 365.25] + [chance.random() for _ in range(1000)]
    with twheel.Timeouts(virtual=True) as timeouts:
        for start in (0, 0.0005, 1e-7):
            timeouts.advance(start)
            seen = []
            for delay in delays:
                timeout = timeouts.call_later(delay, lambda: seen.append(timeouts.time()))
                timeouts.advance(delay)
                assert seen.pop() >= timeout.when() and timeouts.time() < 1e9
                if timeouts.time() > 1e6:
                    break
        timeout = timeouts.call_later(30, seen.append, 1)
        for _ in range(300):
            assert not seen
            timeouts.advance(0.1)
        assert seen
        for when in delays + [time.monotonic() + 1 / 3, math.inf]:
            timeout = timeouts.call_at(when, stall)
            assert timeout.when() == when
            timeout.cancel()


async def virtual_errors(_):
    """What a callback raises ends advance(), and the next one goes on from there."""
    with twheel.Timeouts(virtual=True) as timeouts:
        seen = []

        def note(name):
            seen.append((name, timeouts.time()))
        timeouts.call_later(1, lambda: 1 // 0)
        timeouts.call_later(1, note, "left")
        timeouts.call_later(2, note, "later")
        raises(ZeroDivisionError, timeouts.advance, 5)
        assert not seen and timeouts.time() == 1
        timeouts.advance(1)
        assert seen == [("left", 1), ("later", 2)]
        timeouts.call_later(1, timeouts.advance, 10)
        raises(RuntimeError, timeouts.advance, 2)
        assert timeouts.time() == 3
        # A callback gets the context that it was started with.
        variable = contextvars.ContextVar("variable")
        context = contextvars.copy_context()
        context.run(variable.set, 1)
        timeouts.call_later(1, lambda: seen.append(variable.get()), context=context)
        context.run(timeouts.advance, 1)
        assert seen[-1] == 1
        for delay in (math.inf, math.nan, 1e10):
            raises(ValueError, timeouts.advance, delay)
        timeouts.advance(-1)
        assert timeouts.time() == 4


async def in_order(timeouts):
    """Of one tick, by deadline, and then as they began."""
    for delay in (0.001, 0.1, 1, 100, 1e5):
        with twheel.Timeouts(virtual=True) as virtual:
            seen = []
            for i in range(60):
                virtual.call_later(delay, seen.append, i)
            virtual.advance(delay)
            assert seen == list(range(60))
    seen, when = [], math.ceil(time.monotonic() + 1)
    for i in range(60):
        timeouts.call_at(when - i % 9 * 1e-5, seen.append, (-(i % 9), i))
    await until(lambda: len(seen) == 60)
    assert seen == sorted(seen)


async def cancelled_by_the_collector(timeouts):
    """A __del__() cancels or extends while timeouts are handed to the loop."""
    seen = []

    class Owner:
        def __init__(self, i):
            # Only the collector ends it.
            self.itself, self.i = self, i
            self.timeout = timeouts.call_later(0.001, seen.append, i)

        def __del__(self):
            if self.i % 2:
                self.timeout.cancel()
            else:
                self.timeout.extend(0.001)
            # It must not get a timer that is still to be looked at.
            timeouts.call_later(3600, stall).cancel()
    loop = asyncio.get_running_loop()
    call_soon = loop.call_soon

    def collect_and_call_soon(callback, *args, context=None):
        gc.collect()
        return call_soon(callback, *args, context=context)
    gc.disable()
    for i in range(40):
        Owner(i)
    stall(0.005)
    loop.call_soon = collect_and_call_soon
    await asyncio.sleep(0.05)
    loop.call_soon = call_soon
    gc.enable()
    due = Due(timeouts, 0.02)
    await until(lambda: due.fired and len(seen) >= 20)
    assert sorted(seen) == list(range(0, 40, 2))
    assert not timeouts._pending and not timeouts._expired


async def closed_by_the_collector(_):
    """__del__() is close(), in any order."""
    timeouts = twheel.Timeouts(virtual=True)
    timeout = timeouts.call_later(1, stall)
    timeouts.__del__()
    timeouts.close()
    timeouts.__del__()
    over(timeouts)
    raises(RuntimeError, timeout.extend, 1)
    timeout.cancel()

    class Owner:
        def __init__(self):
            self.timeouts = twheel.Timeouts(virtual=True)
            self.timeout = self.timeouts.call_later(30, self.call)

        def call(self):
            pass

        def __del__(self):
            self.timeout.cancel()
            self.timeouts.close()
            over(self.timeouts)
    for _ in range(50):
        Owner()
    gc.collect()


async def loops_debug_mode(timeouts):
    loop = asyncio.get_running_loop()
    failed = []

    async def coroutine():
        pass

    def from_a_thread():
        failed.append(raises(RuntimeError, timeouts.call_later, 1, stall))
    loop.set_debug(True)
    raises(TypeError, timeouts.call_later, 1, coroutine)
    thread = threading.Thread(target=from_a_thread)
    thread.start()
    thread.join()
    loop.set_debug(False)
    assert len(failed) == 1


async def loop_is_closed(_):
    loop = asyncio.new_event_loop()
    timeouts = twheel.Timeouts(loop)
    timeout = timeouts.call_later(1, stall)
    loop.close()
    raises(RuntimeError, timeouts.call_later, 1, stall)
    timeout.cancel()
    timeouts.close()
    raises((RuntimeError, ValueError), twheel.Timeouts, loop)


async def after_fork(timeouts):
    """The child may only close, and the parent goes on."""
    with twheel.Timeouts(virtual=True) as virtual:
        due, held = Due(timeouts, 0.1), timeouts.call_later(3600, stall)
        child = os.fork()
        if not child:
            status = 1
            try:
                for each in (timeouts, virtual):
                    over(each)
                    raises(RuntimeError, each.call_later, 1, stall)
                raises(RuntimeError, held.extend, 7200)
                held.cancel()
                timeouts.close()
                virtual.close()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        await until(lambda: due.fired)


async def wrong_is_said(timeouts):
    descriptor = os.open("/", os.O_RDONLY)
    os.close(descriptor)
    for tick in (0, 1e-9, 1e9, -1, math.inf, math.nan):
        raises(ValueError, twheel.Timeouts, tick=tick)
        raises(ValueError, twheel.Timeouts, tick=tick, virtual=True)
    for most in (-1, 1 << 64):
        raises(ValueError, twheel.Timeouts, max_pending=most)
    raises(ValueError, twheel.Timeouts, asyncio.get_running_loop(), virtual=True)
    again = os.open("/", os.O_RDONLY)
    os.close(again)
    assert again == descriptor
    raises(RuntimeError, timeouts.advance, 1)
    raises(ValueError, timeouts.call_later, math.nan, stall)
    raises(ValueError, timeouts.call_at, math.nan, stall)
    raises(TypeError, timeouts.call_later, 1, None)
    raises(TypeError, timeouts.call_later, 1, stall, context=1)
    raises(TypeError, timeouts.call_later, "1", stall)
    timeout = timeouts.call_later(1, stall)
    raises(ValueError, timeout.extend, math.nan)
    timeout.cancel()
    assert not timeouts._pending


async def states_are_shown(_):
    class Empty(list):
        def __call__(self):
            pass
    with twheel.Timeouts(virtual=True) as timeouts:
        assert timeouts and len(timeouts) == 0
        first, second = timeouts.call_later(1, Empty()), timeouts.call_later(2, stall)
        assert len(timeouts) == 2
        assert repr(first) == "<Timeout when=1.0 []>" and "stall" in repr(second)
        timeouts.advance(1)
        first.cancel()
        second.cancel()
        assert repr(first) == "<Timeout called when=1.0 []>" and not first.cancelled()
        assert repr(second) == "<Timeout cancelled>" and len(timeouts) == 0


TESTS = (comes_on_time, comes_at_a_time, cancelled_stay_silent, again_in_callback, none_starves,
         extended_come_later, extended_at_the_last_moment, exceptions_are_reported, has_a_limit,
         closed_with_timeouts, closed_by_a_callback, closed_by_the_collector, context_is_kept,
         nothing_is_kept, virtual_time, virtual_time_is_exact, virtual_errors, in_order,
         cancelled_by_the_collector, loops_debug_mode, loop_is_closed, after_fork,
         wrong_is_said, states_are_shown)


async def run(test):
    with twheel.Timeouts(max_pending=MOST) as timeouts:
        # An assertion in a callback fails the test.
        failed = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, what: failed.append(what["exception"]))
        await asyncio.wait_for(test(timeouts), PATIENCE_S)
    for error in failed:
        raise error


def main():
    bad = 0
    for test in TESTS:
        try:
            asyncio.run(run(test))
            print(f"ok {test.__name__}", flush=True)
        except Exception:
            traceback.print_exc()
            print(f"not ok {test.__name__}", flush=True)
            bad = 1
    sys.exit(bad)


main()
