# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Very many timeouts of a program, in one wheel of twheel(4).

Wheel is a wheel as libtwheel has it: timers by number, and events to take.

    with twheel.Wheel() as wheel:
        timer = wheel.arm(1.5, cookie=42)
        for event in wheel.events(timeout=None):
            print(event.cookie)

Timeouts puts a wheel into a loop of asyncio, where call_later() is as the loop's own, and
extend() gives a later time, which is what a server does for each packet.

    timeouts = twheel.Timeouts(max_timers=100000)
    handle = timeouts.call_later(30, connection.close)
    handle.extend(30)
    handle.cancel()

Where there is no device, or none for this user, its timeouts are the loop's own. Times are
seconds, as in asyncio; nothing comes early by CLOCK_MONOTONIC. Only the thread that runs
the loop may use Timeouts. After os.fork() only the parent may use either.
"""
import asyncio
import contextvars
import ctypes
import errno
import os
import time

__all__ = ["Event", "Timeout", "Timeouts", "Wheel"]

_NEVER = 0x7fffffffffffffff
_NO_MAPPING = 1 << 1
_DEVICE_IS_NOT_THERE = (errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.EACCES, errno.EPERM)
# How many callbacks run before the loop serves others.
_CALLBACKS_MAX = 256


class Event(ctypes.Structure):
    """struct twheel_event: id, cookie, deadline_ns, fired_ns, count, flags."""
    _fields_ = [("id", ctypes.c_uint64), ("cookie", ctypes.c_uint64),
                ("deadline_ns", ctypes.c_uint64), ("fired_ns", ctypes.c_uint64),
                ("count", ctypes.c_uint64), ("flags", ctypes.c_uint32),
                ("_reserved", ctypes.c_uint32)]


class _Options(ctypes.Structure):
    _fields_ = [("clock", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("tick_ns", ctypes.c_uint64), ("slots", ctypes.c_uint32),
                ("max_timers", ctypes.c_uint32), ("path", ctypes.c_char_p),
                ("reserved", ctypes.c_uint64 * 4)]


def _library():
    library = ctypes.CDLL("libtwheel.so.0")
    handle, number = ctypes.c_void_p, ctypes.c_uint64
    for name, result, arguments in (
            ("open_sized", ctypes.c_int, (ctypes.POINTER(handle), ctypes.POINTER(_Options),
                                          ctypes.c_size_t)),
            ("close", None, (handle,)),
            ("fd", ctypes.c_int, (handle,)),
            ("arm_at", ctypes.c_int, (handle, number, number, ctypes.POINTER(number))),
            ("modify_at", ctypes.c_int, (handle, number, number)),
            ("extend_at", ctypes.c_int, (handle, number, number)),
            ("cancel", ctypes.c_int, (handle, number)),
            ("events_sized", ctypes.c_int, (handle, ctypes.POINTER(Event), ctypes.c_size_t,
                                            ctypes.c_uint, ctypes.c_int))):
        function = getattr(library, "twheel_" + name)
        function.restype, function.argtypes = result, arguments
    return library


def _check(ret):
    if ret < 0:
        raise OSError(-ret, os.strerror(-ret))
    return ret


def _deadline(delay):
    """A delay in seconds as a time of CLOCK_MONOTONIC, rounded up."""
    now = time.monotonic_ns()
    if delay <= 0:
        return now
    # Written so that infinity and what is beyond the clock never come.
    return now + int(delay * 1e9) + 1 if delay < (_NEVER - now) / 1e9 - 1 else _NEVER


class Wheel:
    """A wheel on CLOCK_MONOTONIC. Calls raise OSError.

    max_timers is the largest number of timers, which lets them be in shared memory; tick is
    the resolution in seconds, and path the device.
    """

    def __init__(self, max_timers=0, tick=0, path=None, mapping=True):
        options = _Options(flags=0 if mapping else _NO_MAPPING, max_timers=max_timers,
                           tick_ns=round(tick * 1e9), path=path and os.fsencode(path))
        self._library = _library()
        self._handle = ctypes.c_void_p()
        _check(self._library.twheel_open_sized(ctypes.byref(self._handle),
                                               ctypes.byref(options), ctypes.sizeof(options)))

    def close(self):
        """Free the wheel. Its timers and events are gone."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.twheel_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def fileno(self):
        """The descriptor, which is readable while events wait in the kernel."""
        return self._library.twheel_fd(self._open())

    def arm(self, delay, cookie=0):
        """A new timer for a delay from now. Returns its number."""
        number = ctypes.c_uint64()
        _check(self._library.twheel_arm_at(self._open(), _deadline(delay), cookie,
                                           ctypes.byref(number)))
        return number.value

    def modify(self, timer, delay):
        """Another deadline for a pending timer."""
        _check(self._library.twheel_modify_at(self._open(), timer, _deadline(delay)))

    def extend(self, timer, delay):
        """A later deadline for a pending timer. False if it was as late already."""
        return not _check(self._library.twheel_extend_at(self._open(), timer,
                                                         _deadline(delay)))

    def cancel(self, timer):
        """End a timer. False if it is not there."""
        ret = self._library.twheel_cancel(self._open(), timer)
        return ret != -errno.ENOENT and _check(ret) >= 0

    def next(self, timeout=0):
        """Take one event, or None. A timeout of None waits for ever."""
        event = Event()
        ms = -1 if timeout is None else -int(-timeout * 1000 // 1)
        ret = _check(self._library.twheel_events_sized(self._open(), ctypes.byref(event),
                                                       ctypes.sizeof(event), 1, ms))
        return event if ret else None

    def events(self, timeout=0):
        """Take events, until none comes in that time."""
        while (event := self.next(timeout)):
            yield event

    def _open(self):
        if not self._handle:
            raise ValueError("the wheel is closed")
        return self._handle


class Timeout:
    """What call_later() returns. Do not make one yourself."""

    def __init__(self, timeouts, callback, args, context):
        self._timeouts, self._callback, self._args = timeouts, callback, args
        self._context = context or contextvars.copy_context()
        self._timer = None      # the wheel's
        self._own = None        # the loop's
        self._when = 0          # in ns, for the loop's

    def active(self):
        """Is the callback still to come?"""
        return self._timer is not None or self._own is not None

    def cancel(self):
        """After this the callback is not called."""
        self._timeouts._stop(self)

    def extend(self, delay):
        """A later time, or none if it is as late already. Starts one that has ended."""
        self._timeouts._extend(self, _deadline(delay))

    def _run(self):
        try:
            self._context.run(self._callback, *self._args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._timeouts.loop.call_exception_handler({
                "message": "Exception in callback of a timeout", "exception": error})


class Timeouts:
    """Timeouts of a loop of asyncio, which is the running one by default.

    max_timers, tick and path are those of Wheel. wheel is None where the loop's own timers
    are used.
    """

    def __init__(self, loop=None, **options):
        self.loop = loop or asyncio.get_running_loop()
        self._active = {}
        self._number = 0
        try:
            self.wheel = Wheel(**options)
        except OSError as error:
            # The library itself may be missing, too.
            if error.errno and error.errno not in _DEVICE_IS_NOT_THERE:
                raise
            self.wheel = None
        if self.wheel:
            self.loop.add_reader(self.wheel, self._drain)

    def close(self):
        """Take the wheel out of the loop. No timeout comes any more."""
        for timeout in list(self._active.values()):
            self._stop(timeout)
        if self.wheel:
            self.loop.remove_reader(self.wheel)
            self.wheel.close()

    def call_later(self, delay, callback, *args, context=None):
        """As loop.call_later(). Returns a Timeout."""
        timeout = Timeout(self, callback, args, context)
        self._start(timeout, _deadline(delay))
        return timeout

    def _start(self, timeout, when):
        self._number += 1
        cookie = self._number
        if self.wheel:
            number = ctypes.c_uint64()
            _check(self.wheel._library.twheel_arm_at(self.wheel._open(), when, cookie,
                                                     ctypes.byref(number)))
            timeout._timer = number.value
        else:
            timeout._when = when
            self._own_start(timeout)
        timeout._cookie = cookie
        self._active[cookie] = timeout

    def _stop(self, timeout):
        if not timeout.active():
            return
        del self._active[timeout._cookie]
        if timeout._own:
            timeout._own.cancel()
            timeout._own = None
        else:
            self.wheel.cancel(timeout._timer)
            timeout._timer = None

    def _extend(self, timeout, when):
        if timeout._own:
            # Seen when the old time has come.
            timeout._when = max(timeout._when, when)
            return
        if timeout._timer is not None:
            ret = self.wheel._library.twheel_extend_at(self.wheel._open(), timeout._timer,
                                                       when)
            if ret not in (-errno.ENOENT, -errno.EALREADY):
                _check(ret)
                return
            # It has expired, but its callback has not been called.
            self._stop(timeout)
        self._start(timeout, when)

    def _own_start(self, timeout):
        left = (timeout._when - time.monotonic_ns()) / 1e9
        # The longest time that a loop is given at once is a day.
        timeout._own = self.loop.call_later(min(max(left, 0), 86400), self._own_over, timeout)

    def _own_over(self, timeout):
        if time.monotonic_ns() < timeout._when:
            self._own_start(timeout)
            return
        timeout._own = None
        del self._active[timeout._cookie]
        timeout._run()

    def _drain(self):
        # One by one: a callback may cancel a timeout whose event has been read ahead.
        for _ in range(_CALLBACKS_MAX):
            event = self.wheel._handle and self.wheel.next()
            if not event:
                return
            timeout = self._active.pop(event.cookie)
            timeout._timer = None
            timeout._run()
        # The descriptor is not readable for events that the library has read ahead.
        self.loop.call_soon(self._drain)
