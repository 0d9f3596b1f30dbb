#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the results of the benchmark: table.py MODE JSON-FILE RESULTS...

MODE is icount, wall, native or wheels, see run.sh, native.sh and wheels.sh.

RESULTS are the files that guests have written, see tools/bench/report.c. JSON-FILE gets
the same as data, with the goals, and which of them are met.
"""
import json
import math
import statistics
import sys

PEERS = ("twheel", "timer_list", "hrtimer")
AGAINST = "timer_list"
# In userspace: three ways to use twheel, and the timers of Linux.
USER_PEERS = ("ioctl", "batch", "cells", "timerfd", "posix", "io_uring")
USER_AGAINST = "timerfd"
# The life of a connection's timer, in the program.
LIFE_PEERS = ("process", "cells", "libev", "libev-lazy", "libuv", "libevent", "libevent-queue")
LIFE_AGAINST = "libev"
LIFE = "1-min"
# The same beside other wheels.
WHEEL_PEERS = ("process", "ratas", "wahern", "added", *LIFE_PEERS[2:])
WHEELS_ONLY = WHEEL_PEERS[:4]
WHEEL_ROWS = (("1-min", "a connection's life in a program", WHEEL_PEERS),
              ("one-tick", "all on one tick", WHEELS_ONLY),
              ("1-h", "deadlines over an hour", WHEELS_ONLY),
              ("none", "memory, in bytes", WHEELS_ONLY))
# A wheel with `threads` for all, one for each thread, and tokio's design.
THREAD_PEERS = ("shared", "each", "queues")
# The engine as a program: a lock for each timer, or for 32.
ENGINE_PEERS = ("one", "many", "one-huge", "many-huge")
UNITS = dict.fromkeys(("wall", "native", "wheels"), "nanoseconds") | {"icount": "instructions"}
# Operations that only twheel has, with the operation of a peer to compare them with.
INSTEAD = {"extend": "modify-later", "arm-many": "arm", "cancel-many": "cancel"}
# The units of those figures that are not a cost per operation.
OTHER = {
    "bytes": "bytes per timer",
    "expire-whole": "per timer, cascades included, without interrupts",
    "extended-more": "more than that, for timers that were extended once",
    "interrupts-per-1000": "timer interrupts per 1000 expiries",
    "busy-per-timer": "per timer, as due, interrupts and idle loop included",
    **dict.fromkeys(("interrupts-off-cascade", "interrupts-off-expiry",
                     "interrupts-off-moving"), "longest stretch with interrupts off"),
    "interrupts-off-call": "longest stretch with interrupts off, in the worst order",
    **dict.fromkeys(("due-wait-cascade", "due-wait-expiry"), "longest wait of a due timer"),
}
USER_OTHER = {
    "bytes": "of the kernel's memory per timer, all told",
    "create": "once for each, beyond arming it",
    "expire": "from due to the last event in the program's hands, idle time left out",
    "event": "each by itself, interrupt, epoll_wait() and read()",
    "wake-epoll": "from the deadline until epoll_wait() has returned",
    "wake-read": "from the deadline until read() has returned",
    "read-64-swept": "the kernel had found them before they were due",
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
# The goals of 1.0: see CONTRIBUTING.md for what a missed one means.
# Operation, delays (None: all), at most, times what timer_list takes or just so much
GOALS = (
    ("arm", None, 0.42, True),
    ("modify-nearer", None, 0.50, True),
    ("modify-later", None, 0.50, True),
    ("extend", None, 12, False),
    ("cancel", None, 1.0, True),
    ("expire", "one-tick", 0.9, True),
    ("expire", "1-h", 1.5, True),
    ("extended-more", "one-tick", 30, False),
    ("extended-more", "1-h", 30, False),
    ("due-wait-cascade", "one-bucket", 5000, False),
    ("interrupts-off-cascade", "one-bucket", 5000, False),
    ("interrupts-off-moving", None, 5000, False),
    ("interrupts-off-call", None, 5000, False),
    ("bytes", "none", 40, False),
)
# The same with few, so that each timer has its own interrupt.
SPARSE_GOALS = (("busy-per-timer", "1-h", 1700, False),)
# Operations that cost as much with the most timers as with the fewest, and how much more.
GROWTH_GOALS = ("arm", "modify-nearer", "modify-later", "extend", "cancel")
GROWTH_MOST = 1.05
# Peer, delays, operation, at most, times what timerfd takes or just so much
USER_GOALS = (
    ("ioctl", "1-h", "arm", 840, False),
    ("ioctl", "1-h", "extend", 860, False),
    ("ioctl", "1-h", "cancel", 850, False),
    ("batch", "1-h", "arm", 130, False),
    ("ioctl", "one-tick", "read-64", 160, False),
    ("cells", "one-tick", "read-64", 300, False),
    ("cells", "1-h", "arm", 75, False),
    ("cells", "1-h", "extend", 20, False),
    ("cells", "1-h", "cancel", 18, False),
    ("cells", "traffic", "arm-long", 390, False),
    ("process", "traffic", "arm-long", 90, False),
    ("cells", "60-s", "idle-server", 700000, False),
    ("cells", "60-s", "idle-server-alarms", 8, False),
    ("ioctl", "none", "bytes", 66, False),
    ("cells", "none", "bytes", 44, False),
    ("ioctl", "3-ms", "lone-epoll-once", 1.2, True),
    ("ioctl", "3-ms", "lone-epoll-periodic", 1.1, True),
    ("ioctl", "3-ms", "wake-epoll", 1.1, True),
    *(("cells", "lease", f"act-{how}", most, False) for how, most in (
        ("stopped", 50000), ("beside-loops", 50000), ("throttled", 1500000),
        ("frozen", 50000), ("group", 5000000), ("first", 50000), ("last", 100000000))),
    ("cells", "lease", "close-last", 100000000, False),
    ("cells", "lease", "feed", 50, False),
)
# Operation and at most, times what timer_list takes
NATIVE_GOALS = (("arm-many", 0.25), ("cancel-many", 0.25), ("extend", 0.12))
# Delays, operation, how many are pending, and at most, times what another wheel or a heap takes
WHEEL_GOALS = (
    *(("1-min", "arm", count, 1.1, "ratas") for count in (1000, 100000, 1000000)),
    *(("one-tick", "arm", count, 1.2, "ratas") for count in (1000, 100000, 1000000)),
    *(("1-min", "extend", count, 0.6, "ratas") for count in (1000, 100000, 1000000)),
    *(("1-min", "cancel", count, 1.05, "ratas") for count in (1000, 100000, 1000000)),
    ("1-min", "drain", 1000, 1.3, "wahern"), ("1-min", "drain", 100000, 0.85, "ratas"),
    ("1-min", "drain", 500000, 0.8, "ratas"), ("1-min", "drain", 1000000, 0.85, "ratas"),
    ("1-h", "expire", 1000, 1.5, "wahern"), ("1-h", "expire", 100000, 0.7, "ratas"),
    ("1-h", "expire", 1000000, 0.75, "ratas"),
    ("1-min", "life", 1000, 0.61, "ratas"), ("1-min", "life", 100000, 0.53, "ratas"),
    ("1-min", "life", 1000000, 0.59, "ratas"), ("1-min", "life", 100000, 0.3, "libev"),
    ("1-min", "life", 1000000, 0.3, "libev"))
VERDICT = {True: "met", False: "MISSED", None: "the spread is wider than the difference"}
# What the goals are for.
GOAL_COUNT = 1000000
USER_GOAL_COUNT = 100000


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

    def counts(self, peers=PEERS):
        return sorted({count for _, _, count, peer in self.samples if peer in peers})

    def rows(self, count, peers=PEERS):
        """(delays, operation) in the order in which they were measured"""
        return list(dict.fromkeys(
            key[:2] for key in self.samples if key[2] == count and key[3] in peers))

    def get(self, delays, operation, count, peer):
        samples = self.samples.get((delays, operation, count, peer))
        return statistics.median(samples) if samples else None

    def spread(self, *key):
        """Half of the samples differ from the median by less than this share of it"""
        samples = self.samples[key]
        median = statistics.median(samples)
        if len(samples) < 2 or not median:
            return 0
        low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
        return (high - low) / 2 / median

    def ratio(self, delays, operation, count):
        ours = self.get(delays, operation, count, "twheel")
        theirs = self.get(delays, INSTEAD.get(operation, operation), count, AGAINST)
        return ours / theirs if ours is not None and theirs else None

    def least(self, *key):
        return min(self.samples[key])

    def data(self):
        return [{"delays": delays, "operation": operation, "count": count, "peer": peer,
                 "median": statistics.median(samples), "samples": len(samples),
                 "spread": round(self.spread(delays, operation, count, peer), 4),
                 "least": min(samples), "most": max(samples)}
                for (delays, operation, count, peer), samples in self.samples.items()]


def grouped(number):
    """1000000 as 1 000 000"""
    return f"{number:,}".replace(",", " ")


def number(figure):
    """A whole number, unless it is small"""
    return f"{figure:.1f}" if 0 < figure < 10 else f"{figure:.0f}"


def cell(figures, *key):
    figure = figures.get(*key)
    if figure is None:
        return f"{'':15}"
    spread = ""
    if len(figures.samples[key]) > 1:
        spread = f" ±{100 * figures.spread(*key):.0f}%"
    return f"{number(figure):>9}{spread:6}"


def headline(what, mode):
    print(f"\n{what}, {UNITS[mode]} per operation"
          + (": the median, and about it what half of the samples lie within"
             if mode == "wall" else ""))


def show(figures, count, mode):
    headline(f"{grouped(count)} pending", mode)
    print(f"  {'delays':12}{'':22}" + "".join(f"{peer:>9}{'':6}" for peer in PEERS)
          + f"  × {AGAINST}")
    last = None
    for delays, operation in figures.rows(count):
        shown = delays if delays not in ("none", last) else ""
        last = delays
        ratio = figures.ratio(delays, operation, count)
        print((f"  {shown:12}{operation:22}" + "".join(
            cell(figures, delays, operation, count, peer) for peer in PEERS)
            + (f"{ratio:9.{2 if ratio < 10 else 0}f}" if ratio is not None else f"{'':9}")
            + ("   " + OTHER[operation] if operation in OTHER else "")).rstrip())


def show_user(figures, count, mode):
    headline(f"{grouped(count)} in userspace", mode)
    print(f"  {'delays':13}{'':20}" + "".join(f"{peer:>9}{'':6}" for peer in USER_PEERS).rstrip())
    last = None
    for delays, operation in figures.rows(count, USER_PEERS):
        if delays == LIFE or operation in ("sample", "reaped-once", "reaped-wrong"):
            continue
        shown = delays if delays not in ("none", last) else ""
        last = delays
        print((f"  {shown:13}{operation:20}" + "".join(
            cell(figures, delays, operation, count, peer) for peer in USER_PEERS)
            + USER_OTHER.get(operation, "")).rstrip())
    for peer in USER_PEERS:
        sample = figures.get("none", "sample", count, peer)
        if sample:
            print(f"  {peer}: so many were extended and cancelled, from all over them: "
                  + grouped(int(sample)))


def native_cell(figures, *key):
    if key not in figures.samples:
        return f"{'':18}"
    return f"{number(figures.least(*key)):>9} {number(figures.get(*key)):>8}"


def show_native(figures, count, title, peers, against=(), only=None):
    """A least and a median for each peer, and both ratios to some of them"""
    rows = [row for row in figures.rows(count, peers)
            if (*row, count, peers[0]) in figures.samples and only in (None, row[0])]
    if not rows:
        return
    unit = "" if only == "none" else ", nanoseconds per operation"
    print(f"\n{title}, {grouped(count)} pending{unit}: the least, and the median")
    print(f"  {'':14}" + "".join(f"{peer:>18}" for peer in peers)
          + "".join(f"{'× ' + peer:>14}" for peer in against))
    for delays, operation in rows:
        ours = (delays, operation, count, peers[0])
        ratios = ""
        for peer in against:
            theirs = (delays, operation, count, peer)
            if theirs not in figures.samples:
                theirs = (delays, INSTEAD.get(operation), count, peer)
            # What is lost in the loop itself is 0.
            known = theirs in figures.samples and figures.least(*theirs)
            ratios += (f"{figures.least(*ours) / figures.least(*theirs):7.2f}"
                       f"{figures.get(*ours) / figures.get(*theirs):7.2f}" if known
                       else f"{'':14}")
        print((f"  {operation:14}" + "".join(
            native_cell(figures, delays, operation, count, peer)
            for peer in peers) + ratios).rstrip())


def judge_native(figures, count):
    """Met or missed if both the least and the median say so"""
    for operation, most in NATIVE_GOALS:
        keys = [("1-h", operation, count, "twheel"),
                ("1-h", INSTEAD[operation], count, AGAINST)]
        if any(key not in figures.samples for key in keys):
            continue
        ratios = [of(*keys[0]) / of(*keys[1]) for of in (figures.least, figures.get)]
        both = {round(ratio, 2) <= most for ratio in ratios}
        yield {"operation": operation, "delays": "1-h", "most": most, "of": AGAINST,
               "measured": round(ratios[1], 4), "least": round(ratios[0], 4),
               "met": both.pop() if len(both) == 1 else None}


def show_machine(figures):
    loads = [load for load, _ in figures.load]
    cpus = figures.load[0][1]
    print(f"\nload of the machine, which has {cpus:.0f} CPUs, meanwhile: "
          f"{min(loads):.1f} to {max(loads):.1f}"
          + (": BUSY; take these figures again when it is not" if max(loads) > 1.2 else ""))


def wheels(figures):
    """A process wheel beside others"""
    goals = []
    for count in figures.counts(WHEEL_PEERS):
        for delays, title, peers in WHEEL_ROWS:
            show_native(figures, count, title, peers, WHEELS_ONLY[1:3], delays)
    for count in figures.counts(THREAD_PEERS):
        show_native(figures, count, "threads, the whole program", THREAD_PEERS, THREAD_PEERS[2:])
    for delays, operation, count, most, peer in WHEEL_GOALS:
        keys = [(delays, operation, count, one) for one in ("process", peer)]
        if keys[0] in figures.samples:
            measured = figures.least(*keys[0]) / figures.least(*keys[1])
            goals.append({"operation": f"{operation}, {delays}", "delays": grouped(count),
                          "most": most,
                          "of": peer, "measured": round(measured, 4),
                          "met": round(measured, 2) <= most})
    show_machine(figures)
    show_goals("goals, by the least of rounds", goals)
    return goals


def native(figures):
    for count in figures.counts():
        show_native(figures, count, "in the kernel", PEERS, (AGAINST,))
    for count in figures.counts(LIFE_PEERS[:1]):
        show_native(figures, count, "a connection's life in a program", LIFE_PEERS,
                    (LIFE_AGAINST,))
    for count in figures.counts(ENGINE_PEERS):
        show_native(figures, count, "the engine as a program", ENGINE_PEERS)
    show_machine(figures)
    count = goal_count(figures.counts(), GOAL_COUNT)
    goals = list(judge_native(figures, count))
    show_goals(f"goals, at {grouped(count)} pending, by the medians", goals)
    return goals


def judge_user(figures, count):
    """The goals of userspace, each for one peer"""
    for peer, delays, operation, most, relative in USER_GOALS:
        figure = figures.get(delays, operation, count, peer)
        if relative and figure is not None:
            figure /= figures.get(delays, operation, count, USER_AGAINST)
        if figure is not None:
            yield {"operation": operation, "delays": delays, "peer": peer, "most": most,
                   "of": USER_AGAINST if relative else None,
                   "measured": round(figure, 4), "met": round(figure, 2) <= most}


def show_life(figures, count, mode):
    headline(f"{grouped(count)} connections' lives in a program: an arm, ten extends, a cancel",
             mode)
    print(f"  {'':14}" + "".join(f"{peer:>15}" for peer in LIFE_PEERS) + f"  × {LIFE_AGAINST}")
    for delays, operation in figures.rows(count, LIFE_PEERS):
        if delays != LIFE:
            continue
        cells = [figures.get(delays, operation, count, peer) for peer in LIFE_PEERS]
        print(f"  {operation:14}" + "".join(f"{number(cell):>15}" for cell in cells)
              + f"{cells[0] / figures.get(delays, operation, count, LIFE_AGAINST):9.2f}")


def judge_reaped(figures, count):
    """Each timer fired once, and not early"""
    for peer in USER_PEERS:
        wrong = figures.samples.get(("none", "reaped-wrong", count, peer))
        if not wrong:
            continue
        once = figures.samples["none", "reaped-once", count, peer]
        missing = max(count - min(once), 0) + max(wrong)
        yield {"operation": "reaped-wrong", "delays": "none", "peer": peer, "most": 0,
               "of": None, "measured": missing, "met": missing == 0}


def judge(figures, count, goals=GOALS):
    """The goals: the allowed figure, and the worst one"""
    for operation, only, most, relative in goals:
        worst = None
        for delays, name in figures.rows(count):
            if name != operation or (only and delays != only) or \
                    (not only and delays == "one-tick"):
                continue
            figure = (figures.ratio(delays, name, count) if relative else
                      figures.get(delays, name, count, "twheel"))
            if figure is not None and (worst is None or figure > worst[0]):
                worst = figure, delays
        if worst:
            yield {"operation": operation, "delays": worst[1], "most": most,
                   "of": AGAINST if relative else None, "measured": round(worst[0], 4),
                   "met": round(worst[0], 2) <= most}


def judge_growth(figures, few, many):
    """With more timers, the cost of an operation grows no more than that of timer_list"""
    for delays, operation in figures.rows(many):
        if operation in OTHER or operation in INSTEAD:
            continue
        growth, noise = [], 0
        for peer in ("twheel", AGAINST):
            keys = [(delays, operation, count, peer) for count in (few, many)]
            cost = [figures.get(*key) for key in keys]
            if None not in cost and 0 not in cost:
                growth.append(cost[1] / cost[0])
                noise += sum(figures.spread(*key) ** 2 for key in keys)
        if len(growth) == 2:
            unclear = abs(math.log(growth[0] / growth[1])) < math.sqrt(noise)
            yield {"operation": operation, "delays": delays, "most": round(growth[1], 4),
                   "of": None, "measured": round(growth[0], 4),
                   "met": None if unclear else growth[0] <= growth[1]}


def judge_count(figures, few, many):
    """The cost of an operation does not grow with the number of timers"""
    for operation in GROWTH_GOALS:
        cost = [figures.get("1-h", operation, count, "twheel") for count in (few, many)]
        if None not in cost and 0 not in cost:
            growth = cost[1] / cost[0]
            yield {"operation": operation, "delays": "1-h", "most": GROWTH_MOST,
                   "of": "few", "measured": round(growth, 4),
                   "met": round(growth, 2) <= GROWTH_MOST}


def show_goals(title, goals):
    print(f"\n{title}")
    for goal in goals:
        unit = f" × {goal['of']}" if goal["of"] else ""
        allowed = f"{goal['most']:g}"
        measured = f"{goal['measured']:.2f}" if 0 < goal["measured"] < 100 else \
            f"{goal['measured']:.0f}"
        where = goal.get("peer", "" if goal["delays"] == "none" else goal["delays"])
        print(f"  {goal['operation']:23}{where:12}{measured:>8}, at most {allowed + unit:20}"
              + VERDICT[goal["met"]])


def goal_count(counts, wanted):
    return wanted if wanted in counts else counts[-1]


def kernel_goals(figures, mode):
    counts = figures.counts()
    if mode == "icount" and counts:
        count = goal_count(counts, GOAL_COUNT)
        goals = list(judge(figures, count))
        show_goals(f"goals, at {grouped(count)} pending, the worst of all delays", goals)
        sparse = list(judge(figures, goal_count(counts, USER_GOAL_COUNT), SPARSE_GOALS))
        if sparse:
            show_goals("goals, each timer with an interrupt of its own", sparse)
        few, many = counts[0], counts[-1]
        growth = list(judge_count(figures, few, many)) if few != many else []
        if growth:
            show_goals(f"goals, at {grouped(many)} pending, beside {grouped(few)}", growth)
        return goals + sparse + growth
    if len(counts) > 1:
        few, many = counts[0], goal_count(counts, GOAL_COUNT)
        goals = list(judge_growth(figures, few, many))
        show_goals(f"goals: cost at {grouped(many)} beside {grouped(few)}, "
                  f"and the same of {AGAINST}", goals)
        return goals
    return []


def user_goals(figures, mode):
    counts = figures.counts(USER_PEERS)
    if not counts:
        return []
    count = goal_count(counts, USER_GOAL_COUNT)
    goals = list(judge_user(figures, count)) if mode == "icount" else []
    if goals:
        show_goals(f"goals, with {grouped(count)} in userspace", goals)
    reaped = list(judge_reaped(figures, counts[-1]))
    show_goals(f"goals: {grouped(counts[-1])} armed, expired and taken; lost, twice or early",
              reaped)
    return goals + reaped


def main():
    mode, out = sys.argv[1:3]
    figures = Figures(sys.argv[3:])
    if mode == "native":
        goals = native(figures)
    elif mode == "wheels":
        goals = wheels(figures)
    else:
        for count in figures.counts():
            show(figures, count, mode)
        for count in figures.counts(USER_PEERS):
            show_user(figures, count, mode)
        for count in figures.counts(LIFE_PEERS[:1]):
            show_life(figures, count, mode)
        goals = kernel_goals(figures, mode) + user_goals(figures, mode)
    if goals:
        print(f"  {sum(goal['met'] is True for goal in goals)} of {len(goals)} met")
    with open(out, "w") as file:
        json.dump({"mode": mode, "unit": UNITS[mode], "kernel": figures.kernel,
                   "figures": figures.data(), "goals": goals}, file, indent=1)
        file.write("\n")


main()
