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

An interrupt, as KeyboardInterrupt in the loop or here, loses no timeout: run the loop again, and
it is called. The call that was interrupted has been made, or has not. Call close() once more then.

A callback may call all of these, close() too, but not advance(): that raises RuntimeError.
Arguments out of range raise ValueError. Only the thread that runs the loop may make the calls:
another one hands a function to loop.call_soon_threadsafe(). In the child of a fork() those raise
RuntimeError that do after close(). It needs Python 3.8, a loop with add_reader(), libtwheel. In a
subinterpreter it needs Python 3.12: before that, Timeouts() raises RuntimeError there.

A Guard is something else: a program that runs under twheel-guard(1) says with it that it goes on.
"""
import asyncio
import collections
import contextvars
import ctypes
import errno
import functools
import inspect
import itertools
import operator
import os
import time
import warnings

__all__ = ["Guard", "Lease", "Timeout", "Timeouts"]
__version__ = "1.0.0"

_LIBRARY = "libtwheel.so.1"
_NEVER = 0x7fffffffffffffff - 3600 * 10**9
_LAST_S = 9.2e9  # the last second of a clock, about
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
    _library = ctypes.PyDLL(_LIBRARY)
except OSError as error:
    raise ImportError(f"twheel needs its library: {error}") from error


def _call(name, result, *arguments, library=_library):
    function = getattr(library, name, None)
    if not function:
        raise ImportError(f"{_LIBRARY} is of another version: it lacks {name}()")
    function.restype, function.argtypes = result, arguments
    return function


_pointer, _u64 = ctypes.c_void_p, ctypes.c_uint64
_destroy = _call("twheel_destroy", ctypes.c_int, _pointer)


class _Wheel(ctypes.c_void_p):
    """A wheel. It ends with the last reference to this object.

    The garbage collector may run in any call, and a __del__() may close what the call is about.
    A call on a wheel has a reference to it. One on a timer has none, and finds zeros.
    """

    # The memory of its timers, what they call, and the pipe of Timeouts: they live as long.
    chunks, function, pipe = (), None, ()

    def __del__(self, _destroy=_destroy, _set=ctypes.memset, _sizeof=ctypes.sizeof):
        _destroy(self)
        self.value = None
        for chunk in self.chunks:
            _set(chunk, 0, _sizeof(chunk))
        for end in self.pipe:
            end.close()


# ctypes keeps errno only for this one. That would take a fifth of the time of others.
_create = _call("twheel_create_size", _Wheel, ctypes.POINTER(_Config), ctypes.c_size_t,
                library=ctypes.PyDLL(_LIBRARY, use_errno=True))
_descriptor = _call("twheel_fd", ctypes.c_int, _pointer)
_run = _call("twheel_run", ctypes.c_int, _pointer, ctypes.c_uint)
_next = _call("twheel_next", _u64, _pointer)
_advance = _call("twheel_advance", _u64, _pointer, _u64)
_init = _call("twheel_timer_init", None, _pointer, _pointer, _Function)
_arm_at = _call("twheel_arm_at", ctypes.c_int, _pointer, _u64)
_cancel = _call("twheel_cancel", ctypes.c_int, _pointer)

# The state of this thread, and the one for which ctypes takes the GIL in a callback.
_thread, _callback_thread = (ctypes.PYFUNCTYPE(_pointer)((name, ctypes.pythonapi)) for name in
                             ("PyThreadState_Get", "PyGILState_GetThisThreadState"))

# Takes all that an iterator has, and keeps nothing.
_exhaust = collections.deque(maxlen=0).extend


def _ns(seconds):
    """Seconds as nanoseconds. What is beyond the clock never comes."""
    if 0 <= seconds < _LAST_S:
        return round(seconds * 1e9)
    if seconds != seconds:
        raise ValueError("not a number of seconds")
    return 0 if seconds < 0 else _NEVER


def _ticks_ns(ns):
    """Nanoseconds in whole ticks of a virtual clock, rounded up."""
    return -(-ns // _VIRTUAL_NS) * _VIRTUAL_NS


def _error(number):
    return OSError(number, os.strerror(number))


def _uncopied(self):
    raise TypeError(f"cannot copy or pickle '{type(self).__name__}' object")


class Timeout:
    """What call_later() and call_at() return, as asyncio.TimerHandle. Do not make one."""

    __slots__ = ("_timeouts", "_when", "_number", "_callback", "_args", "_context", "_called",
                 "__weakref__")
    __reduce__ = _uncopied

    def __init__(self, timeouts, when, callback, args, context):
        self._timeouts = timeouts
        self._when = when
        self._number = next(timeouts._numbers)
        self._callback = callback
        self._args = args
        self._context = context
        self._called = False
        timeouts._begin(self)

    def __repr__(self):
        if self.cancelled():
            return "<Timeout cancelled>"
        state = "" if self in self._timeouts._pending else "called "
        return f"<Timeout {state}when={self._when} {self._callback!r}>"

    def __call__(self):
        """The loop does this when it has expired: so its reports show this object.

        It may do so twice, or when the deadline is another one: then nothing is called.
        """
        callback, args, timeouts = self._callback, self._args, self._timeouts
        if self in timeouts._pending and self._when <= timeouts._time():
            self._called = True
            # One bytecode takes it out and calls it, if it was in. No interrupt comes between.
            was_in = map(timeouts._pending.pop, (self,), (0,))
            _exhaust(itertools.starmap(callback, itertools.compress((args,), was_in)))

    # From this, reports have the file and the line of the callback.
    __wrapped__ = property(operator.attrgetter("_callback"))

    def when(self):
        """When the callback is called, or was, by the clock of Timeouts.time()."""
        return self._when

    def cancelled(self):
        timeouts = self._timeouts
        return timeouts._closed if self in timeouts._pending else not self._called

    def cancel(self):
        """After this the callback is not called. Once it was called, this changes nothing."""
        address = self._timeouts._pending.get(self)
        if address is not None:
            # A call may have been interrupted at its begin.
            self._called = False
            try:
                self._leave(address)
            except BaseException:
                # After an interrupt, the wheel would count it until its deadline.
                self._leave(address)
                raise

    def extend(self, delay):
        """A later deadline: a delay from now. False if it was as late already, and stays.

        Raises RuntimeError if it is over. One that has expired and was not called yet begins
        again, and raises OSError at max_pending. For an earlier deadline start another one.
        """
        timeouts = self._timeouts
        when = timeouts._time() + delay
        deadline_ns = timeouts._deadline_ns(when) if timeouts._advancing else _ns(when)
        pending = timeouts._pending
        address = pending.get(self)
        if address is None:
            raise RuntimeError("the timeout is over")
        before = self._when
        if when <= before or timeouts._loop.is_closed():
            timeouts._check()
            return False
        # It is not called before that, from here on. In the wheel it never has a later one.
        self._when = when
        result = _arm_at(address, deadline_ns)
        if self not in pending:
            # A __del__() has cancelled it. If another one has the timer, _take() looks at that.
            _arm_at(address, 0)
            timeouts._check()
        elif result < 0:
            self._when = before
            timeouts._check()
            raise _error(-result)
        return True

    def _leave(self, address):
        timeouts = self._timeouts
        timeouts._pending.pop(self, None)
        self._callback = self._args = self._context = None
        if timeouts._owners.get(address) is self:
            _cancel(address)
            timeouts._give_back(self, address)


class _Clock:
    """A virtual clock, in the place of a loop."""

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


class Timeouts:
    """Timeouts of a loop of asyncio, the running one by default, or of a virtual clock.

    tick is the resolution in seconds, a microsecond to an hour. max_pending is how many may wait
    for their deadlines; 0: no limit. When the loop closes first, no callback is called any more,
    and calls raise what they raise after close(). A virtual clock takes no loop, and needs none
    that runs. It stands at 0 until advance(). For what its tick is, see there.
    """

    # An interrupt may end each of these functions between any two bytecodes, and a signal handler
    # or a __del__() may make any call there. So there is one truth: what is in _pending is to be
    # called, and Timeout._when says when. It changes in one bytecode. The wheel only says when to
    # look: at the deadline, or earlier, or for a timeout that is over. What has expired is in one
    # of three lists until it is called. While they are not empty, the loop looks at them again
    # and again: the pipe is readable.
    _closed, _wheel = True, None
    __reduce__ = _uncopied

    def __init__(self, loop=None, *, tick=0.001, max_pending=0, virtual=False):
        if not 1e-6 <= tick <= 3600:
            raise ValueError("a tick has a microsecond to an hour")
        if not 0 <= max_pending < 1 << 64:
            raise ValueError("max_pending is out of range")
        if virtual and loop is not None:
            raise ValueError("a virtual clock takes no loop")
        if _thread() != _callback_thread():
            # The thread would wait for itself.
            raise RuntimeError("in a subinterpreter, timeouts need Python 3.12")
        self._tick_ns = round(tick * 1e9)
        self._loop = _Clock() if virtual else loop or asyncio.get_running_loop()
        self._time = self._loop.time if virtual else time.monotonic
        self._pid = os.getpid()
        self._fd, self._advancing = None, False
        self._pending, self._numbers = {}, itertools.count()
        # Timers by their addresses: all of them, those that are free, and whose the others are.
        self._chunks, self._free, self._owners = [], set(), {}
        # What has expired: timers, then timeouts, and when all are known those in their order.
        self._expired, self._found, self._due = [], [], []
        self._function = _Function(self._expired.append)
        config = _Config(clock=_VIRTUAL if virtual else 0, max_pending=max_pending,
                         tick_ns=_VIRTUAL_NS if virtual else self._tick_ns)
        wheel = _create(config, ctypes.sizeof(config))
        if not wheel:
            raise _error(ctypes.get_errno())
        wheel.chunks, wheel.function = self._chunks, self._function
        self._wheel, self._closed = wheel, False
        if not virtual:
            try:
                self._watch(wheel)
            except BaseException:
                self.close()
                raise

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, *_):
        self.close()

    def __len__(self):
        """How many have still to be called, with those that are due."""
        return 0 if self._closed or self._loop.is_closed() else len(self._pending)

    def __bool__(self):
        return True  # even if it is empty

    def __del__(self, _warn=warnings.warn):
        if not self._closed and self._fd is not None:
            _warn(f"unclosed {self!r}", ResourceWarning, source=self)
        if _cancel:
            self.close()

    def close(self):
        """End all timeouts, whose callbacks are not called. Closing twice does no harm.

        After this only cancel(), cancelled(), when() and len() do not raise RuntimeError.
        """
        # If this is interrupted, the next call goes on, which may be the loop's.
        self._closed, wheel = True, self._wheel
        if wheel is None:
            return
        for timeout in list(self._pending):
            timeout.cancel()
        for timeouts in (self._expired, self._found, self._due, self._free):
            timeouts.clear()
        # A child shares what its parent's loop waits for.
        if self._fd is not None and self._pid == os.getpid() and not self._loop.is_closed():
            for descriptor in (self._fd, *wheel.pipe[:1]):
                self._loop.remove_reader(descriptor)
        self._wheel = None

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
        tick of Timeouts() later. The clock counts whole microseconds, and a delay is rounded up
        to them: 1e-7 always is one. It counts what a float of seconds is too coarse for, too.

        What a callback raises comes to the caller, and the clock stands at its time then. The
        next advance() goes on from there: it first calls what else was due at that time.
        """
        self._check()
        if self._fd is not None:
            raise RuntimeError("the clock is not virtual")
        if self._advancing:
            raise RuntimeError("a callback cannot have the clock advance")
        clock = self._loop
        if delay <= -_VIRTUAL_NS / 1e9:  # 0.3 - 0.1 * 3 is less than 0, too
            raise ValueError("the clock does not go back")
        end_ns = clock.now_ns + _ns(delay)
        if end_ns >= _LAST_S * 1e9:
            raise ValueError("the clock does not go as far as that")
        try:
            try:
                self._advancing = True
                # A deadline is a float of seconds, which may be rounded up to what is later.
                self._pass(_ticks_ns(end_ns), _ticks_ns(_ns(clock.now + delay)))
            finally:
                self._advancing = False
        finally:
            # The other one may be what is interrupted.
            self._advancing = False

    def _check(self):
        # The garbage collector may end the wheel first.
        if self._closed or not self._wheel:
            raise RuntimeError("the timeouts are closed")
        if self._pid != os.getpid():
            raise RuntimeError("the timeouts are those of the parent")
        if self._loop.is_closed():
            raise RuntimeError("Event loop is closed")

    def _watch(self, wheel):
        """Have the loop watch the wheel, and the pipe."""
        descriptor = _descriptor(wheel)
        if descriptor < 0:
            raise _error(-descriptor)
        ends = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        wheel.pipe = open(ends[0], "rb", 0), open(ends[1], "wb", 0)
        self._fd = descriptor
        self._loop.add_reader(descriptor, self._serve)
        self._loop.add_reader(ends[0], self._go_on)

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
        if inspect.iscoroutinefunction(callback):
            raise TypeError("coroutines cannot be used with call_later()")
        if self._loop.is_running() and asyncio._get_running_loop() is not self._loop:
            raise RuntimeError("only the thread that runs the loop may make this call")

    def _deadline_ns(self, when):
        if self._advancing and _ns(when) <= self._loop.now_ns:
            return self._loop.now_ns + self._tick_ns
        return _ns(when)

    def _begin(self, timeout):
        """Give it a timer, and arm that."""
        deadline_ns = self._deadline_ns(timeout._when)
        owners, free = self._owners, self._free
        address = free.pop() if free else self._grow()
        while address in owners:
            address = free.pop() if free else self._grow()
        try:
            owners[address] = timeout
            result = _arm_at(address, deadline_ns)
            if result < 0 or self._closed:
                self._check()
                raise _error(-result)
            self._pending[timeout] = address
        except BaseException:
            if timeout not in self._pending:
                _cancel(address)
                self._give_back(timeout, address)
            raise

    def _give_back(self, timeout, address):
        """Its timer is free, unless that was given back already."""
        owners = self._owners
        if owners.get(address) is timeout:
            owners.pop(address, None)
            self._free.add(address)

    def _grow(self):
        """Make timers. Returns one of them."""
        wheel = self._wheel
        self._check()
        chunk = (ctypes.c_uint64 * (_CHUNK * _SIZE // 8))()
        first = ctypes.addressof(chunk)
        self._chunks.append(chunk)
        for address in range(first, first + _CHUNK * _SIZE, _SIZE):
            _init(address, wheel, self._function)
            self._free.add(address)
        return self._free.pop()

    def _serve(self):
        """The wheel's descriptor is readable. It still is after this, if there is more to do."""
        if self._is_served() and not self._is_due():
            self._find()

    def _go_on(self):
        """The pipe is readable."""
        if not self._is_served():
            return
        if self._is_due():
            self._hand_over()
        elif self._found or self._expired:
            self._find()
        else:
            self._wheel.pipe[0].read(_CHUNK)

    def _is_served(self):
        if self._closed:
            self.close()
        return not self._closed and self._pid == os.getpid()

    def _find(self):
        """All that is due has to be known, before the first one can be called."""
        wheel = self._wheel
        if not (self._found or self._expired):
            wheel.pipe[1].write(b"!")
        more = _run(wheel, _CHUNK)
        self._take()
        if more <= 0:
            self._sort()
            if self._is_due():
                self._hand_over()

    def _take(self):
        """Whose timers have expired is found, unless that is over or was extended."""
        expired, owners, pending = self._expired, self._owners, self._pending
        now = self._time()
        now_ns = self._loop.now_ns if self._fd is None else time.monotonic_ns()
        while expired:
            address = expired[-1]
            timeout = owners.get(address)
            if pending.get(timeout) != address:
                self._give_back(timeout, address)
            elif timeout._when <= now or _ns(timeout._when) <= now_ns:
                self._found.append((timeout._when, timeout._number, timeout, address))
            else:
                self._arm(timeout, address)
            del expired[-1:]

    def _arm(self, timeout, address):
        """Have the wheel know the deadline of what was found."""
        result = _arm_at(address, self._deadline_ns(timeout._when))
        if self._pending.get(timeout) != address:
            # As in extend().
            _arm_at(address, 0)
        elif result < 0:
            # At the limit, the loop looks at it until it is due.
            self._found.append((timeout._when, timeout._number, timeout, address))

    def _sort(self):
        """All that was found is due, the first at the end."""
        self._due = sorted(self._found, reverse=True)
        self._found.clear()

    def _is_due(self):
        """Whether something is. What was called, cancelled or extended meanwhile is not."""
        due, pending = self._due, self._pending
        while due:
            when, _, timeout, address = due[-1]
            if timeout not in pending:
                self._give_back(timeout, address)
            elif timeout._when == when:
                return True
            else:
                self._arm(timeout, address)
            del due[-1:]
        return False

    def _hand_over(self):
        """Have the loop call so many in its next round. They stay due until it has."""
        pending, call_soon = self._pending, self._loop.call_soon
        for when, _, timeout, _ in self._due[:-_MOST - 1:-1]:
            if timeout in pending and timeout._when == when:
                call_soon(timeout, context=timeout._context)

    def _pass(self, end_ns, last_ns):
        """The virtual clock goes to an end, or to what is due after that up to a last time."""
        clock, wheel = self._loop, self._wheel
        self._call()
        while not self._closed:
            _advance(wheel, clock.now_ns)
            self._take()
            self._sort()
            self._call()
            next_ns = _next(wheel)
            if clock.now_ns < end_ns:
                next_ns = min(next_ns, end_ns)
            elif next_ns > last_ns:
                return
            clock.advance(max(next_ns, clock.now_ns))

    def _call(self):
        """Call what is due on a virtual clock."""
        clock = self._loop
        while self._is_due():
            timeout = self._due[-1][2]
            context = timeout._context
            if context is None:
                continue
            # 0.1 + 0.2 is more than 0.3, and no callback comes early.
            clock.now = max(clock.now, timeout._when)
            try:
                context.run(int)
            except RuntimeError:
                # The caller of advance() is in this context already.
                context = context.copy()
            context.run(timeout)


class _Lease(ctypes.Structure):
    """struct twheel_guard_lease, and struct twheel_guard, which begins with one"""
    _fields_ = [("cell", _pointer), ("slot", _pointer), ("opener", ctypes.POINTER(ctypes.c_uint)),
                ("rest", _u64 * 13)]


_lease = ctypes.POINTER(_Lease)
_guard_open = _call("twheel_guard_open_shared", ctypes.c_int, _lease)
_lease_open = _call("twheel_guard_lease_open_shared", ctypes.c_int, _lease, _lease,
                    ctypes.c_char_p, _u64)
_lease_feed = _call("twheel_guard_lease_feed_shared", None, _lease)
_lease_left = _call("twheel_guard_lease_left_shared", ctypes.c_int64, _lease)
_lease_close = _call("twheel_guard_lease_close_shared", None, _lease)
_UNWATCHED = 0x7fffffffffffffff


class Lease:
    """What Guard.lease() returns, and Guard itself. The guard acts if it runs out.

    feed() has the timeout count from now.

    Only progress should feed it: a thread that does nothing else would go on in a program that
    hangs. Any thread may make any call. In the child of a fork() they have no effect. The child
    has a Guard() of its own, if it wants one.
    """

    __slots__ = ("_lease", "feed", "__weakref__")
    __reduce__ = _uncopied

    def __init__(self, lease):
        self._lease = lease
        # The timeout counts from now. A call of C costs less than a method.
        self.feed = functools.partial(_lease_feed, lease)

    def __bool__(self):
        """Whether there is a guard that watches it."""
        lease = self._lease
        return bool(lease.cell and lease.opener[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def left(self):
        """For how many seconds it still runs; 0 or less: it has run out or was closed, or --start
        still gives its first feed longer than its timeout. Infinite without a guard.
        """
        left = _lease_left(self._lease)
        return float("inf") if left == _UNWATCHED else left / 1e9

    def close(self):
        """End the watch over it. The main lease is never closed."""
        _lease_close(self._lease)

    def watch_loop(self, loop=None):
        """Have a loop of asyncio feed this, the running one by default, until cancel() of what
        this returns. So a loop that is blocked is found.
        """
        return _Beat(self, loop or asyncio.get_running_loop())


class _Beat:
    """A loop feeds a lease, four times in the timeout of that."""

    def __init__(self, lease, loop):
        self._lease, self._loop, self._handle = lease, loop, None
        self._go_on()

    def _go_on(self):
        lease = self._lease
        if lease:
            lease.feed()
            # That is the timeout, unless the lease has run out.
            left = lease.left()
            if left > 0:
                self._handle = self._loop.call_later(left / 4, self._go_on)

    def cancel(self):
        if self._handle:
            self._handle.cancel()


class Guard(Lease):
    """The guard that runs this program: see twheel-guard(1).

        guard = twheel.Guard()
        for batch in batches:
            guard.feed()
            train(batch)

    Without a guard it is false, and its calls do nothing, so that a program runs with and without
    one. It raises OSError if there is one but its descriptors were closed, as subprocess does for
    children without pass_fds=[int(fd) for fd in os.environ["TWHEEL_GUARD"].split(",")].
    """

    __slots__ = ()

    def __init__(self):
        super().__init__(_Lease())
        error = -_guard_open(self._lease)
        if error not in (0, errno.ENOENT):
            raise _error(error)

    def lease(self, name, timeout):
        """Have the guard act on one thing more: a thread, a step, a loop. Returns a Lease.

            with guard.lease("save", 300):
                save(model)

        The main lease goes on meanwhile: what takes longer than its timeout has to feed it.
        It runs from now on, until it is closed: with close(), or in a with statement. timeout is
        in seconds. Raises ValueError if that is shorter than --timeout of the guard, or longer
        than 50 days, or the name is empty or longer than 31 bytes. Raises OSError with ENOSPC if
        1023 are open, or were closed since the guard last looked, with a shorter timeout.
        """
        lease = _Lease()
        error = -_lease_open(self._lease, lease, os.fsencode(name), _ns(timeout))
        if error == errno.EINVAL:
            raise ValueError(f"the name has 1 to 31 bytes, not {name!r}, and the timeout is from "
                             f"--timeout of the guard to 50 days, not {timeout} s")
        # In the child of a fork, it has no effect either.
        if error not in (0, errno.ECHILD):
            raise _error(error)
        return Lease(lease)

    def close(self):
        """This does nothing: the main lease is the guard's."""
