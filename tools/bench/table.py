#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the results of the benchmark: table.py MODE JSON-FILE RESULTS...

MODE is icount, native or wheels, see run.sh, native.sh and wheels.sh.

RESULTS are the files that guests have written, see tools/bench/report.c. JSON-FILE gets
the same as data, with the goals, and which of them are met.
"""
import json
import statistics
import sys

PEERS = ("twheel", "timer_list", "hrtimer")
# In userspace: three ways to use twheel, and the timers of Linux.
USER_PEERS = ("ioctl", "batch", "cells", "timerfd", "posix", "io_uring")
# The life of a connection's timer, in the program.
LIFE_PEERS = ("process", "cells", "libev", "libev-lazy")
# The same beside other wheels.
WHEEL_PEERS = ("process", "ratas", "wahern", "added")
# A wheel with `threads` for all, one for each thread, and tokio's design.
THREAD_PEERS = ("shared", "each", "queues")
UNITS = {"icount": "instructions", "native": "nanoseconds", "wheels": "nanoseconds"}
LIFE, MIX = "1-min", "mix"
LIFE_TITLE = "a connection's life in a program"
# Of each mode: a title, the peers, those that the first one is compared with, and the delays;
# None: all but those of a life.
TABLES = {
    "icount": (("in the kernel", PEERS, PEERS[1:2], None),
               ("in userspace", USER_PEERS, (), None),
               (LIFE_TITLE, LIFE_PEERS, LIFE_PEERS[2:3], LIFE)),
    "native": (("in the kernel", PEERS, PEERS[1:2], None),
               (LIFE_TITLE, LIFE_PEERS, LIFE_PEERS[2:3], LIFE)),
    "wheels": ((LIFE_TITLE, (*WHEEL_PEERS, *LIFE_PEERS[2:]), WHEEL_PEERS[1:3], LIFE),
               ("all on one tick", WHEEL_PEERS, WHEEL_PEERS[1:3], "one-tick"),
               ("deadlines over an hour", WHEEL_PEERS, WHEEL_PEERS[1:3], "1-h"),
               ("memory, in bytes", WHEEL_PEERS, WHEEL_PEERS[1:3], "none"),
               ("threads, the whole program", THREAD_PEERS, THREAD_PEERS[2:], MIX)),
}
# Operations that only twheel has, with the operation of a peer to compare them with.
INSTEAD = {"extend": "modify-later", "arm-many": "arm", "cancel-many": "cancel"}
# What a figure is that is not a cost per operation.
OTHER = {
    "bytes": "bytes per timer",
    "create": "once for each, beyond arming it",
    "sample": "so many were extended and cancelled, from all over them",
    "expire-whole": "per timer, cascades included, without interrupts",
    "extended-more": "more than that, for timers that were extended once",
    "interrupts-per-1000": "timer interrupts per 1000 expiries",
    "busy-per-timer": "per timer, as due, interrupts and idle loop included",
    **dict.fromkeys(("interrupts-off-cascade", "interrupts-off-expiry",
                     "interrupts-off-moving"), "longest stretch with interrupts off"),
    "interrupts-off-call": "longest stretch with interrupts off, in the worst order",
    **dict.fromkeys(("due-wait-cascade", "due-wait-expiry"), "longest wait of a due timer"),
    "event": "each by itself, interrupt, epoll_wait() and read()",
    "wake-epoll": "from the deadline until epoll_wait() has returned",
    "wake-read": "from the deadline until read() has returned",
    "idle-server": "a second, in the kernel; each is extended once a second",
    "idle-server-alarms": "a second",
    **dict.fromkeys(("act-stopped", "act-beside-loops", "act-throttled", "act-frozen"),
                    "from the tick until a signal's handler runs, the worst"),
    "act-group": "from the tick until five processes are dead, the worst",
    **dict.fromkeys(("act-first", "act-last"), "from the tick on, all leases on one"),
    "close-last": "until all leases of a closed file have acted",
    "feed": "of twheel_guard_feed(), without its reading of the clock",
    "arm-long": "10 000 a second for 5 s or 60 s, 90 % cancelled, all that costs included",
}
MANY, HALF, SOME, FEW = 1000000, 500000, 100000, 1000
# The goals of 1.0: see CONTRIBUTING.md for what a missed one means. Peer, delays (None: all but
# one tick, and the worst counts), operation, how many are pending, and at most: times what another
# peer takes, or just so much.
GOALS = {
    "icount": (
        *(("twheel", delays, operation, MANY, most, against)
          for operation, delays, most, against in (
              ("arm", None, 0.42, "timer_list"),
              ("modify-nearer", None, 0.50, "timer_list"),
              ("modify-later", None, 0.50, "timer_list"),
              ("extend", None, 12, None),
              ("cancel", None, 1.0, "timer_list"),
              ("expire", "one-tick", 0.9, "timer_list"),
              ("expire", "1-h", 1.5, "timer_list"),
              ("extended-more", "one-tick", 30, None),
              ("extended-more", "1-h", 30, None),
              ("due-wait-cascade", "one-bucket", 5000, None),
              ("interrupts-off-cascade", "one-bucket", 5000, None),
              ("interrupts-off-moving", None, 5000, None),
              ("interrupts-off-call", None, 5000, None),
              ("bytes", "none", 40, None))),
        # With few, each timer has its own interrupt.
        ("twheel", "1-h", "busy-per-timer", SOME, 1700, None),
        *((peer, delays, operation, SOME, most, against)
          for peer, delays, operation, most, against in (
              ("ioctl", "1-h", "arm", 840, None),
              ("ioctl", "1-h", "extend", 860, None),
              ("ioctl", "1-h", "cancel", 850, None),
              ("batch", "1-h", "arm", 130, None),
              ("ioctl", "one-tick", "read-64", 160, None),
              ("cells", "one-tick", "read-64", 300, None),
              ("cells", "1-h", "arm", 75, None),
              ("cells", "1-h", "extend", 20, None),
              ("cells", "1-h", "cancel", 18, None),
              ("cells", "traffic", "arm-long", 390, None),
              ("process", "traffic", "arm-long", 90, None),
              ("cells", "60-s", "idle-server", 700000, None),
              ("cells", "60-s", "idle-server-alarms", 8, None),
              ("ioctl", "none", "bytes", 66, None),
              ("cells", "none", "bytes", 44, None),
              ("ioctl", "3-ms", "lone-epoll-once", 1.2, "timerfd"),
              ("ioctl", "3-ms", "lone-epoll-periodic", 1.1, "timerfd"),
              ("ioctl", "3-ms", "wake-epoll", 1.1, "timerfd"),
              *(("cells", "lease", f"act-{how}", most, None) for how, most in (
                  ("stopped", 50000), ("beside-loops", 50000), ("throttled", 1500000),
                  ("frozen", 50000), ("group", 5000000), ("first", 50000), ("last", 100000000))),
              ("cells", "lease", "close-last", 100000000, None),
              ("cells", "lease", "feed", 50, None)))),
    "native": tuple(("twheel", "1-h", operation, MANY, most, "timer_list") for operation, most in (
        ("arm-many", 0.25), ("cancel-many", 0.25), ("extend", 0.12))),
    "wheels": tuple(("process", *goal) for goal in (
        *((delays, operation, count, most, "ratas")
          for delays, operation, most in (("1-min", "arm", 1.1), ("one-tick", "arm", 1.2),
                                          ("1-min", "extend", 0.6), ("1-min", "cancel", 1.05))
          for count in (FEW, SOME, MANY)),
        ("1-min", "drain", FEW, 1.3, "wahern"), ("1-min", "drain", SOME, 0.85, "ratas"),
        ("1-min", "drain", HALF, 0.8, "ratas"), ("1-min", "drain", MANY, 0.85, "ratas"),
        ("1-h", "expire", FEW, 1.5, "wahern"), ("1-h", "expire", SOME, 0.7, "ratas"),
        ("1-h", "expire", MANY, 0.75, "ratas"),
        ("1-min", "life", FEW, 0.61, "ratas"), ("1-min", "life", SOME, 0.53, "ratas"),
        ("1-min", "life", MANY, 0.59, "ratas"), ("1-min", "life", SOME, 0.3, "libev"),
        ("1-min", "life", MANY, 0.3, "libev"))),
}
# Operations that cost as much with the most timers as with the fewest, and how much more.
GROWTH_GOALS = ("arm", "modify-nearer", "modify-later", "extend", "cancel")
GROWTH_MOST = 1.05
VERDICT = {True: "met", False: "MISSED", None: "the spread is wider than the difference"}


class Figures:
    """All figures, by (delays, operation, count, peer)"""

    def __init__(self, files):
        self.samples = {}
        self.kernel = None
        self.load = []
        for name in files:
            lines = open(name).read().replace("\r", "").splitlines()
            if not lines or lines[-1] != "complete":
                sys.exit(f"the benchmark did not come to its end: see {name} "
                         "and the console beside it")
            for line in lines[:-1]:
                if line.startswith("# kernel "):
                    self.kernel = line.split()[2]
                    continue
                if line.startswith("# load "):
                    self.load.append([float(word) for word in line.split()[2:]])
                    continue
                delays, peer, operation, count, figure = line.split()
                self.samples.setdefault(
                    (delays, operation, int(count), peer), []).append(float(figure))

    def counts(self, peers):
        return sorted({count for _, _, count, peer in self.samples if peer in peers})

    def rows(self, count, peers):
        """(delays, operation) in the order in which they were measured"""
        return list(dict.fromkeys(
            key[:2] for key in self.samples if key[2] == count and key[3] in peers))

    def ratios(self, delays, operation, count, peer, against):
        """By the least of the samples, and by their medians; none if one was not measured"""
        theirs = (delays, operation, count, against)
        if theirs not in self.samples:
            theirs = (delays, INSTEAD.get(operation), count, against)
        ours, theirs = self.samples.get((delays, operation, count, peer)), self.samples.get(theirs)
        # What is lost in the loop itself is 0.
        return [of(ours) / of(theirs) for of in (min, statistics.median)] \
            if ours and theirs and min(theirs) else []

    def data(self):
        return [{"delays": delays, "operation": operation, "count": count, "peer": peer,
                 "median": statistics.median(samples), "samples": len(samples),
                 "least": min(samples), "most": max(samples)}
                for (delays, operation, count, peer), samples in self.samples.items()]


def grouped(number):
    """1000000 as 1 000 000"""
    return f"{number:,}".replace(",", " ")


def number(figure):
    """A whole number, unless it is small"""
    return f"{figure:.1f}" if 0 < figure < 10 else f"{figure:.0f}"


def show(figures, mode, count, title, peers, against, only):
    """A figure for each peer, or a least and a median, and the ratios to some of them"""
    rows = [row for row in figures.rows(count, peers)
            if (row[0] == only if only else row[0] != LIFE)]
    if not rows:
        return
    several = mode != "icount"
    width = 18 if several else 11
    print(f"\n{title}, {grouped(count)} pending"
          + ("" if only == "none" else f", {UNITS[mode]} per operation")
          + (": the least, and the median" if several else ""))
    print(f"  {'':13}{'':23}" + "".join(f"{peer:>{width}}" for peer in peers)
          + "".join(f"{'× ' + peer:>14}" for peer in against))
    last = None
    for delays, operation in rows:
        line = f"  {delays if delays not in ('none', last) else '':13}{operation:23}"
        last = delays
        for peer in peers:
            samples = figures.samples.get((delays, operation, count, peer))
            cell = number(statistics.median(samples)) if samples else ""
            line += f"{number(min(samples)) if samples and several else '':>{width - 9}}{cell:>9}"
        for other in against:
            ratios = figures.ratios(delays, operation, count, peers[0], other)
            cell = "".join(f"{ratio:7.2f}" for ratio in ratios[0 if several else 1:])
            line += f"{cell:>14}"
        print((line + f"   {OTHER.get(operation, '')}").rstrip())


def goal_of(where, what, most, ways, unit):
    """@ways: as the least and the median say it. They have to agree."""
    met = {round(way, 2) <= most for way in ways}
    return {"operation": what, "delays": where, "most": most, "of": unit,
            "measured": round(ways[-1], 4), "met": met.pop() if len(met) == 1 else None}


def judge(figures, mode):
    """Each goal that was measured, with as many timers as it is for, or the most there are"""
    for peer, only, operation, count, most, against in GOALS[mode]:
        counts = figures.counts((peer,))
        if mode == "wheels":
            counts = [n for n in counts if n == count]
        if not counts:
            continue
        count = count if count in counts else counts[-1]
        worst = None
        for delays, name in figures.rows(count, (peer,)):
            if name != operation or (delays != only if only else delays == "one-tick"):
                continue
            samples = figures.samples[delays, name, count, peer]
            ways = (figures.ratios(delays, name, count, peer, against) if against else
                    [min(samples), statistics.median(samples)])
            # Other wheels are compared by the least: it is less disturbed.
            ways = ways[:1] if mode == "wheels" else ways
            if ways and (worst is None or ways > worst[0]):
                worst = ways, delays
        if worst:
            yield goal_of(f"{worst[1]}, {peer}, {grouped(count)}", operation, most, worst[0],
                          against)


def judge_count(figures):
    """The cost of an operation does not grow with the number of timers"""
    counts = figures.counts(PEERS)
    for operation in GROWTH_GOALS if len(counts) > 1 else ():
        few, many = (figures.samples.get(("1-h", operation, count, "twheel"))
                     for count in (counts[0], counts[-1]))
        if few and many:
            yield goal_of(f"{grouped(counts[-1])} pending", operation, GROWTH_MOST,
                          [many[0] / few[0]], f"with {grouped(counts[0])}")


def show_goals(goals):
    print("\ngoals")
    for goal in goals:
        unit = f" × {goal['of']}" if goal["of"] else ""
        allowed = f"{goal['most']:g}{unit}"
        measured = f"{goal['measured']:.2f}" if 0 < goal["measured"] < 100 else \
            f"{goal['measured']:.0f}"
        print(f"  {goal['operation']:23}{goal['delays']:30}{measured:>8}, at most {allowed:20}"
              + VERDICT[goal["met"]])
    print(f"  {sum(goal['met'] is True for goal in goals)} of {len(goals)} met")


def show_machine(figures):
    loads = [load for load, _ in figures.load]
    print(f"\nload of the machine, which has {figures.load[0][1]:.0f} CPUs, meanwhile: "
          f"{min(loads):.1f} to {max(loads):.1f}"
          + (": BUSY; take these figures again when it is not" if max(loads) > 1.2 else ""))


def main():
    mode, out = sys.argv[1:3]
    figures = Figures(sys.argv[3:])
    for title, peers, against, only in TABLES[mode]:
        for count in figures.counts(peers[:1] if mode != "icount" else peers):
            show(figures, mode, count, title, peers, against, only)
    if figures.load:
        show_machine(figures)
    goals = [*judge(figures, mode), *(judge_count(figures) if mode == "icount" else ())]
    if goals:
        show_goals(goals)
    with open(out, "w") as file:
        json.dump({"mode": mode, "unit": UNITS[mode], "kernel": figures.kernel,
                   "figures": figures.data(), "goals": goals}, file, indent=1)
        file.write("\n")


main()
