# SPDX-License-Identifier: GPL-2.0-only
"""The module twheel for Python: timeouts in a loop, by the library that the linker finds."""
import asyncio
import contextvars
import errno
import functools
import math
import os
import threading
import time

import twheel
from python_rig import CROWD, MOST, Due, main, raises, stall, until


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


async def in_order(_):
    """Of one tick, by deadline, and then as they began."""
    for tick, steps in ((0.001, 1), (0.001, 9), (0.05, CROWD)):
        for count in (60, 65, CROWD):
            with twheel.Timeouts(tick=tick) as timeouts:
                seen, when = [], math.ceil(time.monotonic() + 0.5)
                for i in range(count):
                    late = -(i % steps)
                    timeouts.call_at(when + late * 1e-5, seen.append, (late, i))
                await until(lambda: len(seen) == count)
                assert seen == sorted(seen), seen[:3]


async def others_come_between(timeouts):
    """A round of the loop calls so many."""
    seen, most, over = [], 0, False
    when = time.monotonic() + 0.05
    for i in range(MOST):
        timeouts.call_at(when, seen.append, i)
    stall(max(0, when + 0.01 - time.monotonic()))
    while len(seen) < MOST:
        before = len(seen)
        await asyncio.sleep(0)
        most = max(most, len(seen) - before)
        # They keep to their rounds when more is due meanwhile.
        if before and not over:
            over = timeouts.call_later(0, seen.append, MOST)
            assert over.when() > when and len(timeouts) > CROWD
    assert seen[:MOST] == list(range(MOST)) and 1 < most <= 64
    await until(lambda: len(seen) == MOST + 1)


async def cancelled_when_due(_):
    """What is due is cancelled, and is not in the way of a limit."""
    with twheel.Timeouts(max_pending=CROWD) as timeouts:
        seen, left = [], []

        def cancel_others():
            for timeout in all_due:
                timeout.cancel()
            left.append(len(timeouts))

        def start_others():
            for _ in range(CROWD):
                timeouts.call_later(3600, stall)
            assert len(timeouts) == 2 * CROWD - 1
            assert raises(OSError, timeouts.call_later, 1, stall).errno == errno.ENOSPC
            seen.append(1)
        when = time.monotonic() + 0.05
        all_due = [timeouts.call_at(when, cancel_others) for _ in range(CROWD)]
        await until(lambda: left)
        await asyncio.sleep(0.02)
        assert left == [0] and sum(not timeout.cancelled() for timeout in all_due) == 1
        when = time.monotonic() + 0.05
        timeouts.call_at(when, start_others)
        for _ in range(CROWD - 1):
            timeouts.call_at(when, seen.append, 0)
        await until(lambda: len(seen) == CROWD)


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


async def wrong_is_said(timeouts):
    descriptor = os.open("/", os.O_RDONLY)
    os.close(descriptor)
    for tick in (0, 1e-9, 1e9, -1, math.inf, math.nan):
        raises(ValueError, twheel.Timeouts, tick=tick)
        raises(ValueError, twheel.Timeouts, tick=tick, virtual=True)
    for most in (-1, 1 << 64):
        raises(ValueError, twheel.Timeouts, max_pending=most)
    raises(ValueError, twheel.Timeouts, asyncio.get_running_loop(), virtual=True)
    virtual_ns, twheel._VIRTUAL_NS = twheel._VIRTUAL_NS, 1
    assert raises(OSError, twheel.Timeouts, virtual=True).errno == errno.EINVAL
    twheel._VIRTUAL_NS = virtual_ns
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


main((comes_on_time, comes_at_a_time, cancelled_stay_silent, again_in_callback, none_starves,
      extended_come_later, extended_at_the_last_moment, exceptions_are_reported, has_a_limit,
      context_is_kept, in_order, others_come_between, cancelled_when_due, loops_debug_mode,
      wrong_is_said))
