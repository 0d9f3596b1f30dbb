# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Very many timeouts of an asyncio program, in one wheel of libtwheel.

    timeouts = twheel.Timeouts()
    timeout = timeouts.call_later(30, connection.close)
    timeout.extend(30)                  # on every packet
    timeout.cancel()

call_later() and call_at() are those of the loop, and what they return has cancel(), cancelled()
and when(), as asyncio.TimerHandle has. extend() gives a later deadline, which is what a server
does for each packet. The loop has to cancel a handle and make another one for that, and keeps
the cancelled ones in its heap for a while. A program need not keep a Timeout. It has to close a
Timeouts: with close(), or in a with statement. Until then the loop keeps it.

Work that recurs starts the next timeout in its callback: call_at(timeout.when() + 5, beat) does
not drift. After a pause it makes up for each call that it missed; to skip them, compute a later
time. A task has a deadline with call_later(30, task.cancel). asyncio.sleep(), wait_for() and
timeout() remain the loop's own.

Tests of timeouts need not wait. A wheel with a virtual clock stands still until advance():

    timeouts = twheel.Timeouts(virtual=True)
    timeouts.call_later(30, connection.close)
    timeouts.advance(30)                # calls connection.close()

advance() makes the calls itself. A task that one of them wakes runs when its loop does, in
"await asyncio.sleep(0)". Each task that waits for another one needs one more of these: too many
do no harm, and ten are enough for most tests. Where tasks start timeouts, go in steps: advance a
second, sleep(0), and again. A virtual clock need not be closed.

It pays where timeouts are renewed, or very many are pending. extend() takes less than half of
the time in which a loop cancels a handle and makes another one. For a few, the loop's do.

Times are seconds of time.monotonic(), as in asyncio. No callback comes early. It is due with the
next tick after its deadline at the latest, and called in the next round of the loop. So data that
has arrived by then is read first, and may extend it. A delay below 0 is due at once, and an
infinite one never. Callbacks of one tick come in the order of their deadlines. Those of one
deadline come in the order in which they were started, extended or not. A round calls up to
64, then the loop's others. If a callback starts a timeout for a time that has passed, that comes
after all that were due with the first. An exception in a callback goes to the exception handler
of the loop. Reports in debug mode name the callback, not where it was started.

A callback may call all of these, close() too, but not advance(): that raises RuntimeError.
Arguments out of range raise ValueError. Only the thread that runs the loop may make the calls:
another one hands a function to loop.call_soon_threadsafe(). In the child of a fork() those raise
RuntimeError that do after close(). It needs Python 3.8, a loop with add_reader(), libtwheel.
"""
import asyncio
import collections
import contextvars
import ctypes
import inspect
import itertools
import operator
import os
import time
import warnings

__all__ = ["Timeout", "Timeouts"]

_LIBRARY = "libtwheel.so.1"
_NEVER = 0x7fffffffffffffff
_VIRTUAL = 4
_VIRTUAL_NS = 1000  # its tick
# How many timers the wheel gets or gives at a time, and how many callbacks run before others.
_CHUNK = 256
_MOST = 64
# The size of struct twheel_timer: a number of 8 bytes and four pointers.
_SIZE = (8 + 4 * ctypes.sizeof(ctypes.c_void_p) + 7) // 8 * 8


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


def _uncopied(self):
    raise TypeError(f"cannot copy or pickle '{type(self).__name__}' object")


class Timeout:
    """What call_later() and call_at() return, as asyncio.TimerHandle. Do not make one."""

    __slots__ = ("_timeouts", "_address", "_when", "_number", "_callback", "_args", "_context",
                 "_soon", "__weakref__")
    __reduce__ = _uncopied

    def __init__(self, timeouts, when, callback, args, context):
        self._timeouts = timeouts
        self._when = when
        self._number = next(timeouts._numbers)
        self._callback = callback
        self._args = args
        self._context = context
        # When the timer has expired, _DUE and then the loop's handle.
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

    # From this, reports have the file and the line of the callback.
    __wrapped__ = property(operator.attrgetter("_callback"))

    def when(self):
        """When the callback is called, or was, by the clock of Timeouts.time()."""
        return self._when

    def cancelled(self):
        return self._callback is None

    def cancel(self):
        """After this the callback is not called. Once it was called, this changes nothing."""
        if self._address is not None:
            self._leave()
            self._callback = self._args = self._context = None

    def extend(self, delay):
        """A later deadline: a delay from now. False if it was as late already, and stays.

        Raises RuntimeError if it is over. One that has expired and was not called yet begins
        again, and raises OSError at max_pending. For an earlier deadline start another one.
        """
        when = self._timeouts._time() + delay
        deadline_ns = self._timeouts._deadline_ns(when)
        address = self._address
        if address is None:
            raise RuntimeError("the timeout is over")
        if self._soon is None:
            if when <= self._when:
                self._timeouts._check()
                return False
            if _modify_at(address, deadline_ns) > 0:
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
        # One that has expired just now is in the list of _take(), which gives it back.
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


_DUE = _Soon(None, None)


class _Queue(collections.deque):
    """The loop of a virtual clock, as far as that takes one."""

    now_ns, now = 0, 0.0

    def time(self):
        return self.now

    def advance(self, now_ns):
        self.now_ns, self.now = now_ns, now_ns / 1e9

    def get_debug(self):
        return True

    def is_closed(self):
        return False

    is_running = is_closed

    def call_soon(self, timeout, *, context):
        # 0.1 + 0.2 is more than 0.3, and no callback comes early.
        self.now = max(self.now, timeout.when())
        self.append(_Soon(timeout, context))
        return self[-1]

    def run(self):
        while self:
            self.popleft().run()


class Timeouts:
    """Timeouts of a loop of asyncio, the running one by default, or of a virtual clock.

    tick is the resolution in seconds, a microsecond to an hour. max_pending is how many may wait
    for their deadlines; 0: no limit. When the loop closes first, no callback is called any more.
    A virtual clock takes no loop, and needs none that runs. It stands at 0 until advance(), and
    moves by whole microseconds, rounded up. For what its tick is, see advance().
    """

    _wheel = None
    __reduce__ = _uncopied

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
        # Timers that have expired, and timeouts that are to be called.
        self._expired, self._due, self._handing = [], [], False
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
        self._check()
        return self

    def __exit__(self, *_):
        self.close()

    def __len__(self):
        """How many have still to be called, with those that are due."""
        return len(self._pending)

    def __bool__(self):
        return True  # even if it is empty

    def __del__(self, _warn=warnings.warn):
        if self._wheel and self._fd is not None:
            _warn(f"unclosed {self!r}", ResourceWarning, source=self)
        if _destroy:
            self.close()

    def close(self):
        """End all timeouts, whose callbacks are not called. Closing twice does no harm.

        After this only cancel(), cancelled(), when() and len() do not raise RuntimeError.
        """
        wheel, self._wheel = self._wheel, None
        if not wheel:
            return
        pending, self._pending, self._due = self._pending, {}, []
        for timeout in list(pending.values()):
            timeout.cancel()
        self._free.clear()
        # A child shares what its parent's loop waits for.
        if self._fd is not None and self._pid == os.getpid() and not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
        # What this has interrupted may have the address of a timer: zeros are none.
        for chunk in [] if _destroy(wheel) else self._chunks:
            ctypes.memset(chunk, 0, ctypes.sizeof(chunk))

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

        Each is called at its time. What a callback starts for that time or before comes one
        tick of Timeouts() later.

        What a callback raises comes to the caller, and the clock stands at its time then. The
        next advance() goes on from there: it first calls what else was due at that time.
        """
        self._check()
        if self._fd is not None:
            raise RuntimeError("the clock is not virtual")
        if self._advancing:
            raise RuntimeError("a callback cannot have the clock advance")
        queue = self._loop
        if delay <= -_VIRTUAL_NS / 1e9:  # 0.3 - 0.1 * 3 is less than 0, too
            raise ValueError("the clock does not go back")
        end_ns = _ns(queue.time() + delay)
        if end_ns == _NEVER:
            raise ValueError("the clock does not go as far as that")
        end_ns = max(-(-end_ns // _VIRTUAL_NS) * _VIRTUAL_NS, queue.now_ns)
        self._advancing = True
        try:
            queue.run()
            while self._wheel:
                _advance(self._wheel, queue.now_ns)
                self._take()
                self._hand_over(len(self._due))
                queue.run()
                if not self._wheel or queue.now_ns == end_ns:
                    return
                queue.advance(min(_next(self._wheel), end_ns))
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
        self._check()
        if self._loop.is_closed():
            raise RuntimeError("Event loop is closed")
        if inspect.iscoroutinefunction(callback):
            raise TypeError("coroutines cannot be used with call_later()")
        if self._loop.is_running() and asyncio._get_running_loop() is not self._loop:
            raise RuntimeError("only the thread that runs the loop may make this call")

    def _deadline_ns(self, when):
        if self._advancing and _ns(when) <= self._loop.now_ns:
            return self._loop.now_ns + self._tick_ns
        return _ns(when)

    def _begin(self, timeout, when):
        """Arm a timer. Returns its address."""
        deadline_ns = self._deadline_ns(when)
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
        # All that is due has to be known, before the first one can be called.
        if self._wheel and not self._handing:
            more = _run(self._wheel, _CHUNK)
            self._take()
            if more <= 0:
                self._hand_over(_MOST)

    def _take(self):
        """What has expired is due.

        The garbage collector may run at any point, and a __del__() may cancel or extend what
        stands here. Then the timeout has another timer or none.
        """
        expired, pending, due = self._expired, self._pending, self._due
        while expired and self._wheel:
            address = expired.pop()
            timeout = pending[address]
            if timeout._address == address:
                timeout._soon = _DUE
                due.append(timeout)
            else:
                self._end(address)

    def _hand_over(self, most):
        """Have up to so many called, and the others in the next rounds of the loop.

        What is cancelled or extended meanwhile is not due any more.
        """
        due, call_soon = self._due, self._loop.call_soon
        if not self._handing:
            due.sort(key=operator.attrgetter("_when", "_number"), reverse=True)
        for _ in range(min(most, len(due))):
            timeout = due.pop()
            if timeout._soon is not _DUE:
                continue
            soon = call_soon(timeout, context=timeout._context)
            if timeout._soon is _DUE:
                timeout._soon = soon
            else:
                soon.cancel()
        self._handing = bool(self._due)
        if self._handing:
            call_soon(self._hand_over, most)
