# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Very many timeouts of an asyncio program, in one wheel of libtwheel.

    timeouts = twheel.Timeouts()
    timeout = timeouts.call_later(30, connection.close)
    timeout.extend(30)                  # on every packet
    timeout.cancel()

call_later() and call_at() are those of the loop, and what they return has cancel(),
cancelled() and when(), as asyncio.TimerHandle has. extend() gives a later deadline, which is
what a server does for each packet. The loop has to cancel a handle and make another one for
that, and keeps the cancelled ones in its heap for a while. A program need not keep a Timeout.

Tests of timeouts need not wait. A wheel with a virtual clock stands still until advance():

    timeouts = twheel.Timeouts(virtual=True)
    timeouts.call_later(30, connection.close)
    timeouts.advance(30)                # calls connection.close()

advance() makes the calls itself. A task that one of them wakes runs when its loop does:

    timeouts.call_later(30, task.cancel)
    timeouts.advance(30)
    await asyncio.sleep(0)              # now the task sees it

It pays where timeouts are renewed, which takes less than half of the loop's time for it, or
where very many are pending. For a few that seldom move, the loop's own timers do as well.

Times are seconds of time.monotonic(), as in asyncio. No callback comes early, and it comes
with the next tick after its deadline at the latest, when the loop has nothing else to do.
Callbacks of one tick come in the order of their deadlines. Those of one deadline come in the
order of their starts. Among very many, other callbacks of the loop come between.

Only the thread that runs the loop may make these calls. Another one takes
loop.call_soon_threadsafe(timeouts.call_later, ...). In the child of a fork() they raise
RuntimeError, except close(). They need the library libtwheel, and no kernel module.
"""
import asyncio
import collections
import contextvars
import ctypes
import inspect
import itertools
import os
import time

__all__ = ["Timeout", "Timeouts"]

_LIBRARY = "libtwheel.so.1"
_NEVER = 0x7fffffffffffffff
_VIRTUAL = 4
# The tick of a virtual clock.
_VIRTUAL_NS = 1000
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
    raise ImportError(f"twheel needs its library: {error}") from error


def _call(name, result, *arguments):
    function = getattr(_library, name, None)
    if not function:
        raise ImportError(f"{_LIBRARY} is of another version: it lacks {name}()")
    function.restype, function.argtypes = result, arguments
    return function


_pointer, _u64 = ctypes.c_void_p, ctypes.c_uint64
_create = _call("twheel_create_size", _pointer, ctypes.POINTER(_Config), ctypes.c_size_t)
_destroy = _call("twheel_destroy", ctypes.c_int, _pointer)
_descriptor = _call("twheel_fd", ctypes.c_int, _pointer)
_run = _call("twheel_run", ctypes.c_int, _pointer, ctypes.c_uint)
_next = _call("twheel_next", _u64, _pointer)
_advance = _call("twheel_advance", _u64, _pointer, _u64)
_init = _call("twheel_timer_init", None, _pointer, _pointer, _Function)
_arm_at = _call("twheel_arm_at", ctypes.c_int, _pointer, _u64)
_modify_at = _call("twheel_modify_at", ctypes.c_int, _pointer, _u64)
_cancel = _call("twheel_cancel", ctypes.c_int, _pointer)


def _ns(seconds):
    """Seconds as nanoseconds. What is beyond the clock never comes."""
    if 0 <= seconds < 9.2e9:
        return round(seconds * 1e9)
    if seconds != seconds:
        raise ValueError("not a number of seconds")
    return 0 if seconds < 0 else _NEVER


def _error(number):
    return OSError(number, os.strerror(number))


class Timeout:
    """What call_later() and call_at() return, as asyncio.TimerHandle. Do not make one."""

    __slots__ = ("_timeouts", "_address", "_when", "_number", "_callback", "_args", "_context",
                 "_soon", "__weakref__")

    def __init__(self, timeouts, when, callback, args, context):
        self._timeouts = timeouts
        self._when = when
        self._number = next(timeouts._numbers)
        self._callback = callback
        self._args = args
        self._context = context
        # When the timer has expired, the loop's handle.
        self._soon = None
        # The timer in the wheel, or None when the callback was called or is cancelled.
        self._address = None
        self._address = timeouts._begin(self, when)

    def __repr__(self):
        if self._callback is None:
            return "<Timeout cancelled>"
        state = "called " if self._address is None else ""
        return f"<Timeout {state}when={self._when} {self._callback!r}>"

    def __call__(self):
        """The loop does this when it has expired: so its reports show this object."""
        if self._soon is not None:
            address, self._address, self._soon = self._address, None, None
            self._timeouts._end(address)
            self._callback(*self._args)

    @property
    def __wrapped__(self):
        """From this, reports have the file and the line of the callback."""
        return self._callback

    def when(self):
        """When the callback is called, or was, by the clock of Timeouts.time()."""
        return self._when

    def cancelled(self):
        return self._callback is None

    def cancel(self):
        """After this the callback is not called. Does nothing once it was called."""
        if self._address is not None:
            self._leave()
            self._callback = self._args = self._context = None

    def extend(self, delay):
        """A later deadline: a delay from now. False if it was as late already, and stays.

        Raises RuntimeError if the callback was called, or has been cancelled. One that has
        expired and was not called yet begins again, which may raise OSError as call_later().
        """
        when = self._timeouts._time() + delay
        deadline_ns = _ns(when)
        if self._address is None:
            raise RuntimeError("the timeout is over")
        if self._soon is None:
            if when <= self._when:
                return False
            if _modify_at(self._address, deadline_ns) > 0:
                self._when = when
                return True
        address = self._timeouts._begin(self, when)
        self._leave()
        self._address, self._when = address, when
        if self._callback is None:
            # The garbage collector ran, and a __del__() has cancelled it.
            self._leave()
        return True

    def _leave(self):
        """Give the timer back."""
        address, soon = self._address, self._soon
        if address is None:
            return
        self._address = self._soon = None
        if soon is not None:
            soon.cancel()
        # One that has expired just now is in the list of _expire(), which gives it back.
        if self._timeouts._wheel and (soon is not None or _cancel(address) > 0):
            self._timeouts._end(address)


class _Soon:
    """What call_soon() of a loop returns."""

    def __init__(self, timeout, context):
        self.timeout, self.context = timeout, context

    def cancel(self):
        self.timeout = None

    def run(self):
        context = self.context
        if not self.timeout:
            return
        try:
            context.run(int)
        except RuntimeError:
            # Who makes the clock advance is in this context already.
            context = context.copy()
        context.run(self.timeout)


class _Queue(collections.deque):
    """The loop of a virtual clock, as far as that takes one."""

    now_ns, now = 0, 0.0

    def time(self):
        return self.now

    def advance(self, now_ns):
        self.now_ns, self.now = now_ns, now_ns / 1e9

    def is_closed(self):
        return False

    get_debug = is_closed

    def call_soon(self, timeout, *, context):
        # 0.1 + 0.2 is more than 0.3, and no callback comes early.
        self.now = max(self.now, timeout.when())
        self.append(_Soon(timeout, context))
        return self[-1]

    def run(self):
        while self:
            self.popleft().run()


class Timeouts:
    """Timeouts of a loop of asyncio, which is the running one by default.

    tick is the resolution in seconds, a microsecond to an hour, and max_pending how many there
    may be; 0: no limit. With virtual, the clock stands at 0 until advance(), no loop takes
    part, and the resolution is a microsecond.
    """

    _wheel = None

    def __init__(self, loop=None, *, tick=0.001, max_pending=0, virtual=False):
        if not 1e-6 <= tick <= 3600:
            raise ValueError("a tick has a microsecond to an hour")
        if not 0 <= max_pending < 1 << 64:
            raise ValueError("max_pending is out of range")
        if virtual and loop is not None:
            raise ValueError("a virtual clock takes no loop")
        self._tick_ns = round(tick * 1e9)
        self._loop = _Queue() if virtual else loop or asyncio.get_running_loop()
        self._time = self._loop.time if virtual else time.monotonic
        self._pid = os.getpid()
        self._fd, self._advancing = None, False
        # Timers by their addresses: all of them, those that are free, and whose the others are.
        self._chunks, self._free, self._pending = [], [], {}
        self._numbers = itertools.count()
        # What has expired, and is to be called.
        self._expired = []
        self._function = _Function(self._expired.append)
        config = _Config(clock=_VIRTUAL if virtual else 0, max_pending=max_pending,
                         tick_ns=_VIRTUAL_NS if virtual else self._tick_ns)
        self._wheel = _create(config, ctypes.sizeof(config))
        if not self._wheel:
            raise _error(ctypes.get_errno())
        if not virtual:
            descriptor = _descriptor(self._wheel)
            if descriptor < 0:
                raise _error(-descriptor)
            self._loop.add_reader(descriptor, self._serve)
            self._fd = descriptor

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __len__(self):
        """How many have still to be called."""
        return len(self._pending)

    def __bool__(self):
        return True

    def __del__(self):
        if _destroy:
            self.close()

    def close(self):
        """End all timeouts; their callbacks are not called. Closing twice does no harm.

        After this all calls but close() raise RuntimeError.
        """
        wheel, self._wheel = self._wheel, None
        if not wheel:
            return
        pending, self._pending = self._pending, {}
        for timeout in list(pending.values()):
            timeout.cancel()
        self._free.clear()
        # A child shares what its parent's loop waits for.
        if self._fd is not None and self._pid == os.getpid() and not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
        _destroy(wheel)

    def time(self):
        """The time: time.monotonic(), or that of the virtual clock."""
        self._check()
        return self._time()

    def call_later(self, delay, callback, *args, context=None):
        """As loop.call_later(). Returns a Timeout. Raises OSError with ENOSPC at the limit."""
        return self._start(self._time() + delay, callback, args, context)

    def call_at(self, when, callback, *args, context=None):
        """As loop.call_at(), with a time of time()."""
        return self._start(when, callback, args, context)

    def advance(self, delay):
        """Let the time of a virtual clock pass, and call all callbacks on the way.

        Each is called at its time. What a callback starts for now is called a tick later. The
        clock moves by whole microseconds, rounded up.

        What a callback raises comes to the caller, and the clock stands at its time then. The
        next advance() goes on from there: it first calls what else was due at that time.
        """
        if self._fd is not None:
            raise RuntimeError("the clock is not virtual")
        self._check()
        if self._advancing:
            raise RuntimeError("a callback cannot have the clock advance")
        queue = self._loop
        end_ns = _ns(queue.time() + delay)
        if end_ns == _NEVER:
            raise ValueError("the clock does not go as far as that")
        end_ns = max(-(-end_ns // _VIRTUAL_NS) * _VIRTUAL_NS, queue.now_ns)
        self._advancing = True
        try:
            while True:
                queue.run()
                if not self._wheel:
                    return
                _advance(self._wheel, queue.now_ns)
                self._expire()
                queue.run()
                if not self._wheel or queue.now_ns == end_ns:
                    return
                next_ns = _next(self._wheel)
                if next_ns <= queue.now_ns:
                    next_ns = queue.now_ns + self._tick_ns
                queue.advance(min(next_ns, end_ns))
        finally:
            self._advancing = False

    def _check(self):
        if not self._wheel:
            raise RuntimeError("the timeouts are closed")
        if self._pid != os.getpid():
            raise RuntimeError("the timeouts are those of the parent")

    def _start(self, when, callback, args, context):
        if not callable(callback):
            raise TypeError(f"{callback!r} cannot be called")
        if context is None:
            context = contextvars.copy_context()
        elif not isinstance(context, contextvars.Context):
            raise TypeError(f"{context!r} is not a context")
        if self._loop.is_closed() or self._loop.get_debug():
            self._debug(callback)
        return Timeout(self, when, callback, args, context)

    def _debug(self, callback):
        """What loop.call_at() refuses."""
        if self._loop.is_closed():
            raise RuntimeError("Event loop is closed")
        if inspect.iscoroutinefunction(callback):
            raise TypeError("coroutines cannot be used with call_later()")
        if self._loop.is_running() and asyncio._get_running_loop() is not self._loop:
            raise RuntimeError("only the thread that runs the loop may make this call")

    def _begin(self, timeout, when):
        """Arm a timer. Returns its address."""
        deadline_ns = _ns(when)
        if not self._free:
            self._grow()
        address = self._free.pop()
        result = _arm_at(address, deadline_ns)
        if result < 0 or not self._wheel:
            self._check()
            self._free.append(address)
            raise _error(-result)
        self._pending[address] = timeout
        return address

    def _end(self, address):
        if self._wheel:
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
        if self._wheel:
            _run(self._wheel, _MOST)
            self._expire()

    def _expire(self):
        """Have called what has expired.

        The garbage collector may run at any point, and a __del__() may cancel or extend what
        stands here. Then the timeout has another timer or none.
        """
        expired, pending, call_soon = self._expired, self._pending, self._loop.call_soon
        if not self._wheel:
            return
        expired.sort(key=lambda address: (pending[address]._when, pending[address]._number),
                     reverse=True)
        while expired:
            address = expired.pop()
            timeout = pending[address]
            soon = None
            if timeout._address == address:
                soon = call_soon(timeout, context=timeout._context)
            if timeout._address == address:
                timeout._soon = soon
            else:
                if soon:
                    soon.cancel()
                self._end(address)
