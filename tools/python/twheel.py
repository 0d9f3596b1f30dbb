# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Very many timeouts of an asyncio program, in one wheel of libtwheel.

    timeouts = twheel.Timeouts()
    timeout = timeouts.call_later(30, connection.close)
    timeout.extend(30)                  # on every packet
    timeout.cancel()

call_later() and call_at() are those of the loop, and what they return has cancel(),
cancelled() and when(), as asyncio.TimerHandle has. extend() gives a later deadline, which is
what a server does for each packet. The loop has to cancel a handle and make another one for
that, and keeps the cancelled ones in its heap for a while.

Tests of timeouts need not wait. A wheel with a virtual clock stands still until advance():

    timeouts = twheel.Timeouts(virtual=True)
    timeouts.call_later(30, connection.close)
    timeouts.advance(30)                # calls connection.close()

It pays where timeouts are renewed, which takes less than half of the loop's time for it, or
where very many are pending. A few that are seldom moved are as well off in the loop.

Times are seconds of time.monotonic(), as in asyncio. No callback comes early, and it comes
with the next tick after its deadline at the latest, when the loop has nothing else to do. Only
the thread that runs the loop may make these calls. They need the library libtwheel, and no
kernel module.
"""
import asyncio
import collections
import contextvars
import ctypes
import functools
import math
import os
import time

__all__ = ["Timeout", "Timeouts"]

_LIBRARY = "libtwheel.so.0"
_NEVER = 0x7fffffffffffffff
_VIRTUAL = 4
# How many timers the wheel gets at a time, and how many callbacks run before others.
_CHUNK = 256
_MOST = 64
# The size of struct twheel_timer: a number of 8 bytes and three pointers.
_SIZE = (8 + 3 * ctypes.sizeof(ctypes.c_void_p) + 7) // 8 * 8


class _Config(ctypes.Structure):
    """struct twheel_config"""
    _fields_ = [("data", ctypes.c_void_p), ("clock", ctypes.c_int), ("slots", ctypes.c_uint),
                ("tick_ns", ctypes.c_uint64), ("start_ns", ctypes.c_uint64),
                ("max_pending", ctypes.c_uint64), ("threads", ctypes.c_bool)]


_Function = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)

try:
    # The calls are short, so they keep the lock of the interpreter.
    _library = ctypes.PyDLL(_LIBRARY, use_errno=True)
except OSError as error:
    raise ImportError(f"{_LIBRARY} of twheel is not installed: {error}") from error


def _call(name, result, *arguments):
    function = getattr(_library, name)
    function.restype, function.argtypes = result, arguments
    return function


_pointer, _u64 = ctypes.c_void_p, ctypes.c_uint64
_create = _call("twheel_create_size", _pointer, ctypes.POINTER(_Config), ctypes.c_size_t)
_destroy = _call("twheel_destroy", ctypes.c_int, _pointer)
_descriptor = _call("twheel_fd", ctypes.c_int, _pointer)
_run = _call("twheel_run", ctypes.c_int, _pointer, ctypes.c_uint)
_now = _call("twheel_now", _u64, _pointer)
_next = _call("twheel_next", _u64, _pointer)
_advance = _call("twheel_advance", _u64, _pointer, _u64)
_init = _call("twheel_timer_init", None, _pointer, _pointer, _Function)
_arm_at = _call("twheel_arm_at", ctypes.c_int, _pointer, _u64)
_modify_at = _call("twheel_modify_at", ctypes.c_int, _pointer, _u64)
_cancel = _call("twheel_cancel", ctypes.c_int, _pointer)


def _ns(seconds):
    """Seconds as nanoseconds, rounded up. What is beyond the clock never comes."""
    if 0 < seconds < 4e9:
        return math.ceil(seconds * 1e9)
    return 0 if seconds <= 0 else _NEVER


def _error(number):
    return OSError(number, os.strerror(number))


class Timeout:
    """What call_later() and call_at() return, as asyncio.TimerHandle. Do not make one."""

    __slots__ = ("_timeouts", "_address", "_deadline_ns", "_callback", "_args", "_context",
                 "_soon", "__weakref__")

    def __init__(self, timeouts, address, deadline_ns, callback, args, context):
        self._timeouts = timeouts
        # The timer in the wheel, or None when it is not there any more.
        self._address = address
        self._deadline_ns = deadline_ns
        self._callback = callback
        self._args = args
        self._context = context
        # When the timer has expired, the loop's handle.
        self._soon = None

    def __repr__(self):
        state = f"when={self.when()} {self._callback}" if self._callback else "cancelled"
        return f"<{type(self).__name__} {state}>"

    def when(self):
        """When the callback is called, or was, by the clock of Timeouts.time()."""
        return self._deadline_ns / 1e9

    def cancelled(self):
        return self._callback is None

    def cancel(self):
        """After this the callback is not called."""
        address = self._address
        if address is not None:
            self._address = None
            self._timeouts._end(address)
            _cancel(address)
        elif self._soon is not None:
            self._soon.cancel()
            self._soon = None
        else:
            # It was called, or this is the second time.
            return
        self._callback = self._args = self._context = None

    def extend(self, delay):
        """A later deadline: a delay from now. False if it was as late already, and stays.

        Raises RuntimeError if the callback was called, or has been cancelled.
        """
        timeouts = self._timeouts
        deadline_ns = min(timeouts._clock() + _ns(delay), _NEVER)
        if self._address is not None:
            if deadline_ns <= self._deadline_ns:
                return False
            self._deadline_ns = deadline_ns
            _modify_at(self._address, deadline_ns)
            return True
        if self._soon is None:
            raise RuntimeError("the timeout is over")
        # It has expired, but its callback was not called yet: so it waits again.
        address = timeouts._begin(deadline_ns)
        timeouts._pending[address] = self
        self._address, self._deadline_ns = address, deadline_ns
        self._soon.cancel()
        self._soon = None
        return True

    def _over(self):
        self._soon = None
        if self._timeouts._wheel:
            self._callback(*self._args)


class _Soon:
    """What call_soon() of a loop returns."""

    def __init__(self, call):
        self.call = call

    def cancel(self):
        self.call = None


class _Queue(collections.deque):
    """The loop of a virtual clock, as far as that takes one."""

    def call_soon(self, callback, *, context):
        self.append(_Soon(functools.partial(context.run, callback)))
        return self[-1]

    def run(self):
        while self:
            soon = self.popleft()
            if soon.call:
                soon.call()


class Timeouts:
    """Timeouts of a loop of asyncio, which is the running one by default.

    tick is the resolution in seconds, and max_pending how many there may be; 0: no limit.
    With virtual, the clock stands at 0 until advance(), and no loop takes part.
    """

    def __init__(self, loop=None, *, tick=0.001, max_pending=0, virtual=False):
        config = _Config(clock=_VIRTUAL if virtual else 0, max_pending=max_pending,
                         tick_ns=max(round(tick * 1e9), 1))
        self._loop = _Queue() if virtual else loop or asyncio.get_running_loop()
        self._wheel = _create(config, ctypes.sizeof(config))
        if not self._wheel:
            raise _error(ctypes.get_errno())
        self._tick_ns = config.tick_ns
        self._clock = functools.partial(_now, self._wheel) if virtual else time.monotonic_ns
        # Timers by their addresses: all of them, those that are free, and whose the others are.
        self._chunks, self._free, self._pending = [], [], {}
        # What has expired, and is to be called.
        self._expired = []
        self._function = _Function(self._expired.append)
        self._fd = None if virtual else _descriptor(self._wheel)
        if not virtual:
            if self._fd < 0:
                raise _error(-self._fd)
            self._loop.add_reader(self._fd, self._serve)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        wheel = getattr(self, "_wheel", None)
        if wheel and _destroy:
            _destroy(wheel)

    def close(self):
        """End all timeouts; their callbacks are not called. Closing twice does no harm."""
        if not self._wheel:
            return
        for timeout in list(self._pending.values()):
            timeout.cancel()
        self._free.clear()
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
        else:
            now_ns = self._clock()
            self._clock = lambda: now_ns
        _destroy(self._wheel)
        self._wheel = None

    def time(self):
        """The time: time.monotonic(), or that of the virtual clock."""
        return self._clock() / 1e9

    def call_later(self, delay, callback, *args, context=None):
        """As loop.call_later(). Returns a Timeout. Raises OSError with ENOSPC at the limit."""
        deadline_ns = self._clock() + _ns(delay)
        return self._start(deadline_ns, callback, args, context)

    def call_at(self, when, callback, *args, context=None):
        """As loop.call_at(), with a time of time()."""
        return self._start(_ns(when), callback, args, context)

    def advance(self, delay):
        """Let the time of a virtual clock pass, and call all callbacks on the way.

        Each is called at its time. What one of them raises comes to the caller. The others
        are called by the next advance().
        """
        if self._fd is not None:
            raise RuntimeError("the clock is not virtual")
        self._check()
        now_ns = self._clock()
        end_ns = now_ns + _ns(delay)
        while True:
            # What a callback starts for now is for the next tick.
            step_ns = max(_next(self._wheel), now_ns + self._tick_ns)
            now_ns = min(step_ns, end_ns)
            _advance(self._wheel, now_ns)
            self._expire()
            self._loop.run()
            if now_ns == end_ns or not self._wheel:
                return

    def _check(self):
        if not self._wheel:
            raise RuntimeError("the timeouts are closed")

    def _start(self, deadline_ns, callback, args, context):
        address = self._begin(deadline_ns)
        timeout = Timeout(self, address, deadline_ns, callback, args,
                          contextvars.copy_context() if context is None else context)
        self._pending[address] = timeout
        return timeout

    def _begin(self, deadline_ns):
        """Arm a timer. Returns its address."""
        if not self._free:
            self._grow()
        address = self._free.pop()
        result = _arm_at(address, min(deadline_ns, _NEVER))
        if result < 0:
            self._free.append(address)
            raise _error(-result)
        return address

    def _end(self, address):
        del self._pending[address]
        self._free.append(address)

    def _grow(self):
        self._check()
        chunk = (ctypes.c_uint64 * (_CHUNK * _SIZE // 8))()
        first = ctypes.addressof(chunk)
        self._chunks.append(chunk)
        for address in range(first, first + _CHUNK * _SIZE, _SIZE):
            _init(address, self._wheel, self._function)
            self._free.append(address)

    def _serve(self):
        """The descriptor is readable. It still is after this, if there is more to do."""
        _run(self._wheel, _MOST)
        self._expire()

    def _expire(self):
        """Have called what has expired."""
        for address in self._expired:
            timeout = self._pending[address]
            self._end(address)
            timeout._address = None
            timeout._soon = self._loop.call_soon(timeout._over, context=timeout._context)
        self._expired.clear()
