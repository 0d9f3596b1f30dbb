# SPDX-License-Identifier: GPL-2.0-only
"""The module twheel for Python: its objects end, are collected or forked."""
import asyncio
import copy
import gc
import os
import pickle
import subprocess
import sys
import time
import traceback
import warnings
import weakref

import twheel
from python_rig import CROWD, Due, main, over, raises, stall, until


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


async def closed_in_a_call(_):
    """A signal handler closes, just before the library is called."""
    for extends in (False, True):
        timeouts = twheel.Timeouts()
        timeout = timeouts.call_later(3600, stall)
        arm_at = twheel._arm_at

        def close_and_arm(*args):
            timeouts.close()
            return arm_at(*args)
        twheel._arm_at = close_and_arm
        if extends:
            raises(RuntimeError, timeout.extend, 7200)
        else:
            raises(RuntimeError, timeouts.call_later, 1, stall)
        twheel._arm_at = arm_at


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

    def is_gone():
        gc.collect()
        return [ref() for ref in seen] == [None, None]
    await until(is_gone)


async def cancelled_by_the_collector(timeouts):
    """A __del__() cancels or extends while timeouts are handed to the loop."""
    seen, whens = [], {}

    def call(i):
        assert time.monotonic() >= whens.get(i, 0), "early"
        seen.append(i)

    class Owner:
        def __init__(self, i):
            # Only the collector ends it.
            self.itself, self.i = self, i
            self.timeout = timeouts.call_later(0.001, call, i)

        def __del__(self):
            if self.i % 2:
                self.timeout.cancel()
            else:
                self.timeout.extend(0.03)
                whens[self.i] = self.timeout.when()
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


async def loop_is_closed(_):
    loop = asyncio.new_event_loop()
    timeouts = twheel.Timeouts(loop)
    timeout, another = timeouts.call_later(1, stall), timeouts.call_later(1, stall)
    loop.close()
    over(timeouts)
    for delay in (0, 10):
        raises(RuntimeError, timeout.extend, delay)
    assert len(timeouts) == 0
    timeout.cancel()
    timeouts.close()
    assert timeout.cancelled() and another.cancelled()
    raises((RuntimeError, ValueError), twheel.Timeouts, loop)


async def after_fork(timeouts):
    """The child may only close, and the parent goes on."""
    with twheel.Timeouts(virtual=True) as virtual:
        due, held = Due(timeouts, 0.1), timeouts.call_later(3600, stall)
        loop = asyncio.get_running_loop()
        child = os.fork()
        if not child:
            status = 1
            try:
                loop.set_debug(True)
                for each in (timeouts, virtual):
                    over(each)
                    told = raises(RuntimeError, each.call_later, 1, stall)
                    assert "parent" in str(told), told
                raises(RuntimeError, held.extend, 7200)
                raises(RuntimeError, held.extend, 1)
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


async def dropped_with_its_loop(_):
    """The loop keeps it. Whoever forgets it is told when the loop ends."""
    def drop():
        timeouts = twheel.Timeouts(loop)
        timeouts.call_later(3600, stall)
        return weakref.ref(timeouts), timeouts._fd
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        loop = asyncio.new_event_loop()
        timeouts, descriptor = drop()
        gc.collect()
        assert timeouts() and not seen
        loop.close()
        gc.collect()
        assert not timeouts()
        assert [warning.category for warning in seen] == [ResourceWarning], seen
        assert "Timeouts" in str(seen[0].message)
        raises(OSError, os.fstat, descriptor)
        twheel.Timeouts(virtual=True).call_later(1, stall)
        gc.collect()
        assert len(seen) == 1


async def in_a_subinterpreter(_):
    """A callback of ctypes hangs there before Python 3.12, so this is another process."""
    script = """
import twheel

try:
    timeouts = twheel.Timeouts(virtual=True)
    timeouts.call_later(1, print, "called")
    timeouts.advance(1)
except RuntimeError as error:
    print(error)
"""
    if sys.version_info >= (3, 13):
        start = f"import _interpreters as i; i.exec(i.create('legacy'), {script!r})"
    else:
        isolated = "isolated=False" if sys.version_info >= (3, 9) else ""
        start = ("import _xxsubinterpreters as i; "
                 f"i.run_string(i.create({isolated}), {script!r})")
    said = subprocess.run([sys.executable, "-c", start], stdout=subprocess.PIPE,
                          check=True).stdout
    wanted = b"called" if sys.version_info >= (3, 12) else b"need Python 3.12"
    assert wanted in said, said


async def never_copied(timeouts):
    """A copy would free what the other one has."""
    for each in (timeouts, timeouts.call_later(3600, stall)):
        for copier in (copy.copy, copy.deepcopy, pickle.dumps):
            assert type(each).__name__ in str(raises(TypeError, copier, each))


main((closed_with_timeouts, closed_by_a_callback, closed_by_the_collector, closed_in_a_call,
      nothing_is_kept, cancelled_by_the_collector, loop_is_closed, after_fork,
      dropped_with_its_loop, in_a_subinterpreter, never_copied))
