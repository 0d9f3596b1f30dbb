# SPDX-License-Identifier: GPL-2.0-only
"""The module twheel for Python: a KeyboardInterrupt at each bytecode of it.

Each scenario is played again and again. The first time it is interrupted at its first bytecode in
the module, then at the second one, until it has not so many. A bytecode of the loop counts too,
when it has taken a callback of ours and has not called it. After that, all goes on: what was
started is called once and never early, and then the loop has nothing to do.
"""
import asyncio
import dis
import gc
import selectors
import sys
import time
import traceback

import twheel
from python_rig import raises

# So few that a handful of timeouts takes several rounds.
twheel._CHUNK, twheel._MOST = 3, 2
SELECTOR = selectors.DefaultSelector()
LOOP = asyncio.SelectorEventLoop(SELECTOR)
ROUNDS = 100
# CPython takes no interrupt where an exception handler begins and ends. By one from a trace it
# would break, and also by one between the names of a call's arguments and the call.
NEVER = ("PUSH_EXC_INFO", "COPY", "POP_EXCEPT", "RERAISE")
NAMES, CALL = "KW_NAMES", "CALL"


class Interrupts:
    """One after so many bytecodes, and with @again after so many more each time."""

    def __init__(self, after, again=False):
        self.after, self.left, self.again = after, after, again
        self.where, self.named = None, False

    def __enter__(self):
        # What an earlier scenario has left does not end in this one.
        gc.disable()
        sys.settrace(self.enter)

    def __exit__(self, *_):
        sys.settrace(None)
        gc.enable()

    def watches(self, frame):
        if frame.f_code.co_filename == twheel.__file__:
            return True
        if frame.f_code is not asyncio.Handle._run.__code__:
            return False
        callback = frame.f_locals["self"]._callback
        return isinstance(getattr(callback, "__self__", callback),
                          (twheel.Timeout, twheel.Timeouts))

    def enter(self, frame, event, _):
        if not self.watches(frame):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self.count

    def may_come(self, frame):
        name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        named, self.named = self.named, name == NAMES or self.named and name != CALL
        return not named and name not in NEVER

    def count(self, frame, event, _):
        if event == "opcode" and self.left and self.may_come(frame):
            self.left -= 1
            if not self.left:
                self.where = f"{frame.f_code.co_name}:{frame.f_lineno}+{frame.f_lasti}"
                raise KeyboardInterrupt
        return self.count

    def play(self, act):
        """Returns whether an interrupt came out of it."""
        try:
            with self:
                act()
        except KeyboardInterrupt:
            if self.again:
                self.left = self.after
            return True
        finally:
            # In a __del__() it is only reported.
            LOST.clear()
        return False


LOST = []
sys.unraisablehook = LOST.append


class Note:
    """A timeout, and how often it is to be called: 0, 1, or None if an interrupt came."""

    def __init__(self, timeouts, virtual, when, then=None):
        self.timeouts, self.virtual, self.when, self.then = timeouts, virtual, when, then
        self.called, self.wanted, self.timeout = 0, None, None

    def start(self):
        self.timeout = self.timeouts.call_at(self.when, self.call)
        self.wanted = 1
        return self

    def extend(self, delay):
        """After an interrupt it has one deadline or the other, and when() tells which."""
        return self.timeout.extend(delay)

    def cancel(self):
        self.wanted = None
        self.timeout.cancel()
        self.wanted = 0

    def call(self):
        self.called += 1
        assert self.called == 1, "called twice"
        if self.timeout:
            late = self.timeouts.time() - self.timeout.when()
            assert late >= 0, "early"
            # A virtual clock stops there. What a callback starts comes a tick later.
            assert late <= 0.0011 or not self.virtual, f"late by {late}"
        if self.then:
            self.then()

    def check(self, over):
        assert self.wanted is not None or self.called <= 1
        if self.wanted is None:
            return
        if over or not self.wanted:
            assert self.called == self.wanted, f"called {self.called} of {self.wanted}"


class Scenario:
    """What is there before, what is interrupted, and what has to be right after that."""

    virtual, options = False, {}

    def __init__(self):
        self.notes, self.failed, self.timeouts = [], [], None
        LOOP.set_exception_handler(lambda _, what: self.failed.append(what["exception"]))
        self.prepare()

    def prepare(self):
        self.make()

    def make(self):
        loop = None if self.virtual else LOOP
        self.timeouts = twheel.Timeouts(loop, virtual=self.virtual, **self.options)

    def note(self, delay, then=None):
        when = self.timeouts.time() + delay
        self.notes.append(Note(self.timeouts, self.virtual, when, then))
        return self.notes[-1].start()

    def act(self):
        raise NotImplementedError

    def rounds(self, count=1):
        for _ in range(count):
            LOOP.call_soon(LOOP.stop)
            LOOP.run_forever()

    def settle(self):
        """All that is due is called, and then the loop sleeps."""
        if self.virtual:
            self.timeouts.advance(100)
            return
        for _ in range(ROUNDS):
            self.rounds()
            soon = [note.timeout.when() for note in self.notes
                    if note.wanted and not note.called and note.timeout.when() < self.far()]
            if soon:
                time.sleep(max(0, min(soon) + 0.001 - time.monotonic()))
            elif not SELECTOR.select(0):
                return
        raise AssertionError(f"the loop spins, {len(self.timeouts)} left")

    def far(self):
        return self.timeouts.time() + 100

    def check(self):
        timeouts = self.timeouts
        if timeouts is None:
            return
        self.settle()
        another = self.note(0 if self.virtual else -1)
        self.settle()
        assert another.called, "it does not go on"
        wanted = unknown = 0
        for note in self.notes:
            far = note.wanted and note.timeout.when() > self.far() - 50
            note.check(not far)
            wanted += bool(far)
            unknown += note.wanted is None and not note.called
        assert wanted <= len(timeouts) <= wanted + unknown, f"len() is {len(timeouts)}"
        timeouts.close()
        assert len(timeouts) == 0
        if not self.virtual:
            self.rounds()
            assert not SELECTOR.select(0), "the loop spins when all is closed"
        for error in self.failed:
            raise error


class Made(Scenario):
    """What the constructor leaves costs the loop nothing. If there is one, it works."""

    def prepare(self):
        pass

    def act(self):
        self.make()

    def check(self):
        super().check()
        for _ in range(3):
            self.rounds()
        assert not SELECTOR.select(0), "the loop spins"


class Started(Scenario):
    def act(self):
        for delay in (-1, 3600, -1, 3600, -1):
            self.note(delay)


class StartedAtTheLimit(Scenario):
    options = {"max_pending": 2}

    def act(self):
        self.note(3600)
        self.note(3600).cancel()
        due = self.note(-1)
        raises(OSError, self.note, 3600)
        self.notes.pop()
        assert not due.called

    def check(self):
        self.settle()
        for note in self.notes[:2]:
            if note.timeout:
                note.cancel()
        # No interrupt has taken a place, unless it has started one.
        places = 2 - len(self.timeouts)
        for note in [self.note(3600) for _ in range(places)]:
            note.cancel()
        super().check()


class Cancelled(Scenario):
    def prepare(self):
        self.make()
        for delay in (3600, 1800, -1, -1, -1):
            self.note(delay)

    def act(self):
        self.notes[0].cancel()
        self.notes[2].cancel()
        self.rounds()
        for note in self.notes[3:]:
            if not note.called:
                note.cancel()


class Extended(Scenario):
    def prepare(self):
        self.make()
        self.note(-1, self.extend_others)
        for delay in (-1, -1, -0.5, 3600):
            self.note(delay)
        self.others = self.notes[1:3]

    def extend_others(self):
        for note in self.others:
            if not note.called:
                note.extend(0.002)

    def act(self):
        self.notes[3].extend(0.001)
        assert self.notes[4].extend(7200)
        assert not self.notes[4].extend(7000)
        self.rounds(4)


class ExtendedAtTheLimit(Scenario):
    """What is due has no place any more, and cannot begin again. It is called."""
    options = {"max_pending": 3}

    def prepare(self):
        self.make()
        self.note(-1, self.extend_others)
        for _ in range(2):
            self.note(-1)
        self.others = self.notes[1:]

    def extend_others(self):
        for _ in range(3):
            self.note(3600)
        for note in self.others:
            if not note.called:
                raises(OSError, note.extend, 1)

    def act(self):
        self.rounds(3)

    def check(self):
        self.settle()
        for note in self.notes[3:]:
            if note.timeout:
                note.cancel()
        super().check()


class HandedOver(Scenario):
    """Callbacks start others, and cancel, and end."""

    def prepare(self):
        self.make()
        for then in (self.start, self.cancel_last, None, None):
            self.note(-1, then)
        self.note(3600)
        self.last = self.notes[3]

    def start(self):
        self.note(-2)

    def cancel_last(self):
        self.last.cancel()

    def act(self):
        self.rounds(7)


class ClosedInACallback(Scenario):
    def prepare(self):
        self.make()
        for then in (None, self.close, None, None):
            self.note(-1, then)
        self.note(3600)

    def close(self):
        for note in self.notes:
            note.wanted = None
        self.timeouts.close()

    def act(self):
        self.rounds(3)

    def check(self):
        for _ in range(9):
            self.rounds()
        assert not SELECTOR.select(0), "the loop spins"
        called = [note.called for note in self.notes]
        try:
            self.timeouts.time()
        except RuntimeError:
            assert len(self.timeouts) == 0
            for note in self.notes:
                assert note.called or note.timeout.cancelled()
        else:
            assert called[:4] == [1, 1, 1, 1] and len(self.timeouts) == 1, called
        self.timeouts.close()
        self.rounds()
        assert [note.called for note in self.notes] == called
        assert all(note.called or note.timeout.cancelled() for note in self.notes)
        assert not SELECTOR.select(0), "the loop spins when all is closed"


class Closed(ClosedInACallback):
    """The loop has some that are due."""

    def prepare(self):
        self.make()
        for _ in range(4):
            self.note(-1)
        self.note(3600)
        self.rounds()

    def act(self):
        self.close()


class Virtual(Scenario):
    virtual = True

    def prepare(self):
        self.make()
        for delay, then in ((1, self.start), (1, self.cancel_last), (2, self.extend), (2, None),
                            (2.5, None), (3, None)):
            self.note(delay, then)
        self.late, self.later, self.last = self.notes[3:]

    def start(self):
        self.note(0)

    def cancel_last(self):
        self.last.cancel()

    def extend(self):
        if not self.late.called:
            self.late.extend(0.5)
        self.later.extend(1)

    def act(self):
        self.timeouts.advance(2)


def tell(scenario, interrupts):
    print(f"# {scenario.__name__}, interrupted in {interrupts.where}")
    traceback.print_exc(file=sys.stdout)


def went_wrong(played, scenario, interrupts, told):
    """Whether something is lost, or wrong in another way. It is told of, if @told."""
    try:
        played.check()
        return False
    except Exception:
        if told:
            tell(scenario, interrupts)
        if played.timeouts:
            played.timeouts.close()
        return True


def interrupted_once(scenario):
    """Returns at how many bytecodes, and how many of them went wrong."""
    count = bad = 0
    while True:
        interrupts = Interrupts(count + 1)
        played = scenario()
        interrupts.play(played.act)
        if not interrupts.where:
            played.check()
            return count, bad
        count += 1
        bad += went_wrong(played, scenario, interrupts, bad < 3)


def interrupted_often(scenario):
    """Also while it goes on after an interrupt."""
    count = bad = 0
    for after in range(150, 400, 3):
        interrupts = Interrupts(after, True)
        played = scenario()
        act = played.act
        for _ in range(ROUNDS):
            if not interrupts.play(act):
                break
            act = played.settle
        count += 1
        bad += went_wrong(played, scenario, interrupts, bad < 3)
    return count, bad


def main():
    # Python 3.12 traces bytecodes from the second time on.
    first = Made()
    Interrupts(0).play(first.act)
    first.check()
    failed = 0
    once = (Made, Started, StartedAtTheLimit, Cancelled, Extended, ExtendedAtTheLimit, HandedOver,
            Closed, ClosedInACallback, Virtual)
    often = (Started, Cancelled, Extended, HandedOver, Virtual)
    for walk, scenarios in ((interrupted_once, once), (interrupted_often, often)):
        for scenario in scenarios:
            count, bad = walk(scenario)
            said = "not ok" if bad or not count else "ok"
            print(f"{said} {walk.__name__}: {scenario.__name__}: {bad} of {count} went wrong",
                  flush=True)
            failed |= bool(bad or not count)
    sys.exit(failed)


main()
