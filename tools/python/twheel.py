# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Very many timeouts of a program, in one wheel of twheel(4).

Wheel is a wheel: timers by number, and events to take.

    with twheel.Wheel() as wheel:
        timer = wheel.arm(1.5, cookie=42)
        for event in wheel.events(timeout=None):
            print(event.cookie)

Timeouts puts a wheel into a loop of asyncio, where call_later() is as the loop's own, and
extend() gives a later time, which is what a server does for each packet.

    timeouts = twheel.Timeouts()
    handle = timeouts.call_later(30, connection.close)
    handle.extend(30)
    handle.cancel()

Times are seconds, as in asyncio; nothing comes early by CLOCK_MONOTONIC. Only the thread that
runs the loop may use Timeouts. It takes the device, and no library.
"""
import asyncio
import collections
import contextvars
import errno
import fcntl
import math
import os
import select
import struct

__all__ = ["Event", "Timeout", "Timeouts", "Wheel"]

_PATH = "/dev/twheel"
_NEVER = 0x7fffffffffffffff
_VIRTUAL = 4
_LATER = 1 << 1
_ARM, _CANCEL, _MODIFY, _ADVANCE = 1, 2, 3, 7

_SETUP = struct.Struct("=2IQ4I")
_OP = struct.Struct("=2I6Qq")
_EVENT = struct.Struct("=5Q2I")
# How many events are taken at a time.
_MOST = 64

Event = collections.namedtuple("Event", "id cookie deadline_ns now_ns count type flags")


def _command(write, read, number, size):
    """The number of an ioctl, as <linux/ioctl.h> makes it."""
    if os.uname().machine.startswith(("alpha", "mips", "ppc", "sparc")):
        direction = (write << 2 | read << 1) << 29
    else:
        direction = (read << 1 | write) << 30
    return direction | size << 16 | 0xE7 << 8 | number


_IOC_SETUP = _command(1, 0, 0x11, _SETUP.size)
_IOC_OP = _command(1, 1, 0x12, _OP.size)


def _ns(seconds):
    """Seconds as nanoseconds, rounded up. What is beyond the clock never comes."""
    ns = max(seconds, 0) * 1e9
    return math.ceil(ns) if ns < _NEVER else _NEVER


class Wheel:
    """A wheel. Calls raise OSError.

    max_timers is the largest number of timers, and tick the resolution in seconds; 0 is the
    default of each. The clock is CLOCK_MONOTONIC, or if virtual, one for tests, that begins
    at 0 and goes on by advance() only.
    """

    def __init__(self, max_timers=0, tick=0, virtual=False):
        self._fd = os.open(_PATH, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.ioctl(self._fd, _IOC_SETUP, _SETUP.pack(
                _VIRTUAL if virtual else 0, 0, round(tick * 1e9), max_timers, 0, 0, 0))
        except BaseException:
            self.close()
            raise

    def close(self):
        """End the wheel. Its timers and events are gone."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_fd", None) is not None:
            self.close()

    def fileno(self):
        """The descriptor, which is readable while there are events."""
        if self._fd is None:
            raise ValueError("the wheel is closed")
        return self._fd

    def _op(self, *inputs):
        """An operation: code, flags, id, cookie, time, period. Returns result and id."""
        op = bytearray(_OP.pack(*inputs, *(0,) * (9 - len(inputs))))
        return fcntl.ioctl(self.fileno(), _IOC_OP, op), _OP.unpack(op)[2]

    def arm(self, delay, cookie=0, period=0):
        """A new timer for a delay from now. Returns its number."""
        return self._op(_ARM, 0, 0, cookie, _ns(delay), _ns(period))[1]

    def modify(self, timer, delay):
        """Another deadline for a timer; if it was due, its event does not come."""
        self._op(_MODIFY, 0, timer, 0, _ns(delay))

    def extend(self, timer, delay):
        """A later deadline for a timer. False if it was as late already."""
        return self._op(_MODIFY, _LATER, timer, 0, _ns(delay))[0] == 1

    def cancel(self, timer):
        """End a timer. False if it is not there."""
        try:
            self._op(_CANCEL, 0, timer)
        except FileNotFoundError:
            return False
        return True

    def advance(self, delay):
        """Set a virtual clock forward."""
        self._op(_ADVANCE, 0, 0, 0, _ns(delay))

    def events(self, timeout=0, most=_MOST):
        """Take events, up to so many. A timeout is for the first; None waits for ever."""
        if timeout != 0:
            poll = select.poll()
            poll.register(self, select.POLLIN)
            poll.poll(None if timeout is None else math.ceil(timeout * 1000))
        try:
            records = os.read(self.fileno(), most * _EVENT.size)
        except BlockingIOError:
            return []
        return [Event._make(record) for record in _EVENT.iter_unpack(records)]


class Timeout:
    """What call_later() returns. Do not make one yourself."""

    def __init__(self, timeouts, callback, args, context):
        self._timeouts, self._callback, self._args = timeouts, callback, args
        self._context = context or contextvars.copy_context()
        self._timer = self._cookie = None

    def active(self):
        """Is the callback still to come?"""
        return self._timer is not None

    def cancel(self):
        """After this the callback is not called."""
        self._timeouts._stop(self)

    def extend(self, delay):
        """A later time, or none if it is as late already. Starts one that has ended."""
        self._timeouts._extend(self, delay)


class Timeouts:
    """Timeouts of a loop of asyncio, which is the running one by default.

    Options are those of Wheel.
    """

    def __init__(self, loop=None, **options):
        self.loop = loop or asyncio.get_running_loop()
        self.wheel = Wheel(**options)
        self._active = {}
        self._number = 0
        self.loop.add_reader(self.wheel, self._drain)

    def close(self):
        """Take the wheel out of the loop. No timeout comes any more."""
        for timeout in list(self._active.values()):
            self._stop(timeout)
        self.loop.remove_reader(self.wheel)
        self.wheel.close()

    def call_later(self, delay, callback, *args, context=None):
        """As loop.call_later(). Returns a Timeout."""
        timeout = Timeout(self, callback, args, context)
        self._start(timeout, delay)
        return timeout

    def _start(self, timeout, delay):
        timeout._timer = self.wheel.arm(delay, self._number + 1)
        self._number += 1
        timeout._cookie = self._number
        self._active[timeout._cookie] = timeout

    def _stop(self, timeout):
        if timeout.active():
            del self._active[timeout._cookie]
            self.wheel.cancel(timeout._timer)
            timeout._timer = None

    def _extend(self, timeout, delay):
        if timeout.active():
            try:
                self.wheel.extend(timeout._timer, delay)
                return
            except FileNotFoundError:
                # Its event has been taken, but its callback has not been called.
                self._stop(timeout)
        self._start(timeout, delay)

    def _drain(self):
        for event in self.wheel.events():
            self.loop.call_soon(self._over, event.cookie,
                                context=self._active[event.cookie]._context)

    def _over(self, cookie):
        # Another callback may have stopped it, or started it anew.
        timeout = self._active.pop(cookie, None)
        if timeout:
            timeout._timer = None
            timeout._callback(*timeout._args)
