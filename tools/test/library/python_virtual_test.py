# SPDX-License-Identifier: GPL-2.0-only
"""The module twheel for Python: virtual clocks."""
import contextvars
import math
import random
import time

import twheel
from python_rig import CROWD, main, raises, stall


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


async def virtual_time_far_away(_):
    """The clock counts what a float is too coarse for, and the sum does not drift."""
    for start in (0, 1e6, 1.7e9, 4.2e9):
        with twheel.Timeouts(virtual=True) as timeouts:
            timeouts.advance(start)
            seen = []
            for _ in range(10):
                timeouts.advance(1e-7)
            assert abs(timeouts.time() - start - 1e-5) < 1e-6, timeouts.time() - start
            for _ in range(1000):
                timeouts.advance(0.1)
            assert abs(timeouts.time() - start - 100.00001) < 1e-6, timeouts.time() - start
            chance = random.Random(2)
            for i in range(1000):
                delay = chance.random() * 10 ** -chance.randrange(7)
                timeout = timeouts.call_later(delay, lambda: seen.append(timeouts.time()))
                timeouts.advance(delay)
                assert len(seen) == i + 1 and seen[i] >= timeout.when()
    raises(RuntimeError, timeouts.advance, 1)
    with twheel.Timeouts(virtual=True) as timeouts:
        timeouts.advance(9e9)
        raises(ValueError, timeouts.advance, 1e9)
        assert timeouts.time() == 9e9


async def virtual_errors(_):
    """What a callback raises ends advance(), and the next one goes on from there."""
    with twheel.Timeouts(virtual=True) as timeouts:
        seen = []

        def note(name):
            seen.append((name, timeouts.time()))
        timeouts.call_later(1, lambda: 1 // 0)
        timeouts.call_later(1, note, "left")
        timeouts.call_later(2, note, "later")
        raises(TypeError, timeouts.call_later, 1, virtual_errors, None)
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
        for delay in (-1, -1e-6, -math.inf):
            raises(ValueError, timeouts.advance, delay)
        timeouts.advance(0.3 - (0.1 + 0.2))
        assert timeouts.time() == 4


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


async def virtual_order(_):
    """Of one time, as they began. What is started for now comes a tick later, or next."""
    with twheel.Timeouts(virtual=True) as timeouts:
        for delay in (0.001, 0.1, 1, 100, 1e5):
            seen = []
            for i in range(CROWD):
                timeouts.call_later(delay, seen.append, i)
            timeouts.advance(delay)
            assert seen == list(range(CROWD))
    with twheel.Timeouts(virtual=True, tick=0.5) as timeouts:
        def again():
            seen.append(timeouts.time())
            timeouts.call_later(0, again)
        seen = []
        timeouts.call_later(1, again)
        timeouts.advance(1)
        assert seen == [1]
        timeouts.advance(0)
        assert seen == [1]
        timeouts.advance(1)
        assert seen == [1, 1.5, 2]
    # What is due before that tick is called at its time, and an extension cannot go back.
    with twheel.Timeouts(virtual=True, tick=1) as timeouts:
        def note(name):
            seen.append((name, timeouts.time()))

        def begin():
            timeouts.call_at(3, note, "past").extend(1 - timeouts.time() + 3)
            timeouts.call_later(0, note, "now")
        seen = []
        timeouts.call_at(10, begin)
        timeouts.call_at(10.25, note, "soon")
        timeouts.advance(10.5)
        assert seen == [("soon", 10.25)]
        timeouts.advance(1)
        assert seen == [("soon", 10.25), ("past", 11), ("now", 11)]


main((virtual_time, virtual_time_is_exact, virtual_time_far_away, virtual_errors, virtual_order,
      states_are_shown))
