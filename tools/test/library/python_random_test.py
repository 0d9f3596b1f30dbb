# SPDX-License-Identifier: GPL-2.0-only
"""The module twheel for Python: random calls, in a loop that takes all liberties.

It calls readers in any order, often or seldom, and calls in any number what was handed to it. Some
of that it loses, as a loop does that an interrupt ends. Argument: the first seed.
"""
import collections
import contextvars
import random
import select
import sys
import time

import twheel

PROGRAMS = 12
STEPS = 400


class Loop:
    def __init__(self, chance):
        self.chance, self.readers, self.ready = chance, {}, collections.deque()
        self.poll = select.epoll()

    def add_reader(self, descriptor, callback):
        self.poll.register(descriptor, select.EPOLLIN)
        self.readers[descriptor] = callback

    def remove_reader(self, what):
        descriptor = what if isinstance(what, int) else what.fileno()
        if self.readers.pop(descriptor, None):
            self.poll.unregister(descriptor)

    def call_soon(self, callback, *args, context=None):
        self.ready.append((context or contextvars.copy_context(), callback, args))

    def is_closed(self):
        return False

    get_debug = is_closed

    def is_running(self):
        return True

    def round(self):
        """Whether there was something to do."""
        readable = self.poll.poll(0)
        self.chance.shuffle(readable)
        for descriptor, _ in readable:
            if self.chance.random() < 0.7 and descriptor in self.readers:
                self.readers[descriptor]()
        for _ in range(self.chance.choice((0, 1, 3, len(self.ready)))):
            if self.ready:
                context, callback, args = self.ready.popleft()
                if self.chance.random() < 0.95:
                    context.run(callback, *args)
        return bool(readable or self.ready)


class Program:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.loop = Loop(self.chance)
        twheel._MOST, twheel._CHUNK = self.chance.choice((1, 2, 64)), self.chance.choice((2, 256))
        self.timeouts = twheel.Timeouts(self.loop, tick=self.chance.choice((1e-6, 0.001, 0.01)),
                                        max_pending=self.chance.choice((0, 30)))
        self.pending, self.count = {}, 0

    def call(self, number):
        assert time.monotonic() >= self.pending.pop(number).when(), "early"
        if self.chance.random() < 0.3:
            self.act()

    def act(self):
        what, delay = self.chance.random(), self.chance.random() * 0.03 - 0.01
        try:
            if what < 0.5 or not self.pending:
                self.count += 1
                self.pending[self.count] = self.timeouts.call_later(delay, self.call, self.count)
                return
            number = self.chance.choice(list(self.pending))
            if what < 0.8:
                self.pending[number].extend(delay)
            else:
                self.pending.pop(number).cancel()
        except OSError:
            # At the limit.
            pass

    def play(self):
        for _ in range(STEPS):
            for _ in range(self.chance.randrange(6)):
                self.act()
            self.loop.round()
            assert len(self.timeouts) == len(self.pending)
        while self.pending or self.loop.round():
            self.loop.round()
        assert len(self.timeouts) == 0
        self.timeouts.close()
        assert not self.loop.readers
        self.loop.poll.close()


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = 0
    for seed in range(first, first + PROGRAMS):
        program = Program(seed)
        try:
            program.play()
        except BaseException:
            print(f"seed {seed}")
            raise
        count += program.count
    print(f"ok {PROGRAMS} programs, {count} timeouts")


main()
