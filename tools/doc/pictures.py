#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw the pictures of the documents: pictures.py [FOLDER]

Writes wheel, levels, drain and locks .svg into FOLDER, by default tools/doc/pictures.
"""
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
from drawing import Drawing  # noqa: E402

# Both schemes have a background of their own: a page may not follow the viewer's scheme.
LIGHT = {"back": "#ffffff", "text": "#24292f", "faint": "#57606a", "grid": "#8c959f",
         "blue": "#ddf4ff", "green": "#dafbe1", "orange": "#fff1e5", "grey": "#eaeef2",
         "strong": "#0969da", "alarm": "#bc4c00"}
DARK = {"back": "#0d1117", "text": "#e6edf3", "faint": "#9198a1", "grid": "#6e7681",
        "blue": "#0c2d6b", "green": "#033a16", "orange": "#5a1e02", "grey": "#21262d",
        "strong": "#58a6ff", "alarm": "#f0883e"}
AREAS = ("back", "blue", "green", "orange", "grey")


def style(scheme):
    """No CSS variables: viewers other than browsers do not support them"""
    rules = [f".{area} {{ fill: {scheme[area]}; }}" for area in AREAS]
    rules += [f"text {{ fill: {scheme['text']}; }}", f".faint {{ fill: {scheme['faint']}; }}",
              f".edge {{ stroke: {scheme['grid']}; }}",
              f".arrow {{ stroke: {scheme['faint']}; }}",
              f".tip {{ fill: {scheme['faint']}; }}"]
    for ink in ("strong", "alarm"):
        rules += [f".{ink} {{ fill: {scheme[ink]}; }}",
                  f".line-{ink} {{ stroke: {scheme[ink]}; }}"]
    return "\n".join(rules) + "\n"


STYLE = """
text { font: 12px system-ui, sans-serif; }
.title { font-weight: 600; font-size: 13px; }
.head { font-weight: 600; font-size: 16px; }
.faint { font-size: 11px; }
.code { font-family: ui-monospace, monospace; font-size: 11px; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.edge { stroke-width: 1; }
.arrow { fill: none; stroke-width: 1.5; }
.mark { fill: none; stroke-width: 2; }
""" + style(LIGHT) + "@media (prefers-color-scheme: dark) {\n" + style(DARK) + "}\n"


class Sketch(Drawing):
    STYLE = STYLE

    def box(self, x, y, width, height, area, round_=0):
        self.parts.append(f'<rect class="{area} edge" x="{x:.1f}" y="{y:.1f}" '
                          f'width="{width:.1f}" height="{height:.1f}" rx="{round_}"/>')

    def line(self, points, style="arrow"):
        self.parts.append(f'<polyline class="{style}" points="'
                          + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')

    def arrow(self, *points):
        """Along the points; the tip at the last one"""
        self.line(points)
        (x0, y0), (x, y) = points[-2:]
        length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
        dx, dy = (x - x0) / length, (y - y0) / length
        left, right = ((x - 8 * dx + side * 4 * dy, y - 8 * dy - side * 4 * dx)
                       for side in (-1, 1))
        self.parts.append(f'<path class="tip" d="M{x:.1f},{y:.1f} L{left[0]:.1f},{left[1]:.1f}'
                          f' L{right[0]:.1f},{right[1]:.1f} z"/>')

    def dot(self, x, y, ink="strong"):
        self.parts.append(f'<circle class="{ink}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')

    def labelled(self, x, y, width, height, area, lines, style="middle"):
        """A box with text in it; the first line is its name"""
        self.box(x, y, width, height, area, 4)
        at = x + width / 2 if style == "middle" else x + 10
        top = y + height / 2 - 7.5 * (len(lines) - 1) + 4
        for i, words in enumerate(lines):
            kind = "code" if words.endswith("()") else "title" if not i else "faint"
            self.text(at, top + 15 * i, words, f"{kind} {style}")


def wheel(folder):
    """For the README: three levels, a few timers, and how they move"""
    drawing = Sketch(960, 340, "A timing wheel of several levels",
                     "tick 1 ms, 128 slots to a level; 16 buckets of each are drawn; dots are timers")
    sectors, inner, outer, y = 16, 44, 84, 190

    def point(x, radius, turn):
        angle = 2 * math.pi * turn / sectors - math.pi / 2
        return x + radius * math.cos(angle), y + radius * math.sin(angle)

    def level(x, name, what, timers):
        """Bucket 0 is the one at the position"""
        for i in range(sectors):
            area = "orange" if not i else "blue" if i in timers else "back"
            corners = [point(x, outer, i), point(x, outer, i + 1),
                       point(x, inner, i + 1), point(x, inner, i)]
            (x0, y0), (x1, y1), (x2, y2), (x3, y3) = corners
            drawing.parts.append(
                f'<path class="{area} edge" d="M{x0:.1f},{y0:.1f} A{outer},{outer} 0 0 1 '
                f'{x1:.1f},{y1:.1f} L{x2:.1f},{y2:.1f} A{inner},{inner} 0 0 0 '
                f'{x3:.1f},{y3:.1f} z"/>')
            for j in range(timers.get(i, 0)):
                drawing.dot(*point(x, inner + 11 + 18 * j, i + 0.5))
        drawing.text(x, y - 2, name, "title middle")
        drawing.text(x, y + 14, what, "faint middle")

    left, middle, right, fork = 116, 352, 588, 714
    level(left, "level 2", "16.4 s each", {2: 2, 5: 1, 11: 2})
    level(middle, "level 1", "128 ms each", {1: 2, 6: 1, 13: 1})
    level(right, "level 0", "1 ms each", {0: 2, 3: 1, 7: 2, 12: 1})
    for x, end in ((left, middle), (middle, right)):
        drawing.arrow((x + outer + 6, y), (end - outer - 6, y))
        drawing.text((x + end) / 2, y - 8, "cascade", "middle")
        drawing.text((x + end) / 2, y + 18, "ahead of", "faint middle")
        drawing.text((x + end) / 2, y + 32, "its time", "faint middle")
    for top, area, lines in ((72, "grey", ("one hrtimer", "set for the next occupied bucket")),
                             (162, "green", ("kernel module", "its callback runs")),
                             (222, "green", ("program", "its descriptor becomes readable"))):
        drawing.labelled(736, top, 204, 48, area, lines)
    drawing.line([(right + outer + 6, y), (fork, y)])
    drawing.arrow((fork, y), (fork, 186), (736, 186))
    drawing.arrow((fork, y), (fork, 246), (736, 246))
    drawing.text(right + outer + 10, y - 8, "fire")
    drawing.line([(right, y - outer - 2), (right, 96), (736, 96)], "mark line-alarm")
    drawing.text(24, 306, "A timer goes straight to the level of its distance. It moves down at most once a "
                 "level, and fires on its own tick.")
    drawing.text(24, 324, "To extend a timer, one atomic operation stores the later deadline. "
                 "The timer moves only when its old bucket is reached.")
    drawing.save(os.path.join(folder, "wheel.svg"))


def levels(folder):
    """Where a timer is enqueued, in a wheel with 2 slots that stands at tick 5"""
    now, slots, last = 5, 2, 40
    drawing = Sketch(960, 420, "Where a timer is enqueued",
                     "2 slots to a level, 8 buckets each; the position is tick 5; dots are timers")
    left, unit = 90, 21

    def at(tick):
        return left + unit * tick

    timers = {9: 0, 15: 1, 18: 1, 31: 2}
    for level in range(3):
        y, span = 100 + 90 * level, slots ** level
        here = now // span
        drawing.text(24, y + 16, f"level {level}", "title")
        drawing.text(24, y + 31, f"{span} tick{'s' if level else ''}", "faint")
        for number in range(here, last // span):
            begin = at(max(number * span, now))
            first, end = number * span, number * span + span - 1
            takes = any(now + (4 * span if level else 1) <= tick < now + 4 * span * slots
                        for tick in (first, end))
            if number == here:
                area = "grey"
            elif level and number <= here + 2:
                area = "orange"
            elif takes:
                area = "blue"
            else:
                continue
            drawing.box(begin, y, at(end + 1) - begin, 26, area)
            occupied = any(tick // span == number and where == level
                           for tick, where in timers.items())
            drawing.text((begin + at(end + 1)) / 2, y + 42, "1" if occupied else "0",
                         "faint middle")
        drawing.text(24, y + 46, "bitmap", "faint")
    for tick, level in timers.items():
        drawing.dot(at(tick + 0.5), 113 + 90 * level)
    drawing.line([(at(now), 76), (at(now), 345)], "mark line-alarm")
    drawing.text(at(now) + 5, 86, "position", "alarm")
    for tick in range(0, last + 1, 8):
        drawing.text(at(tick), 360, tick, "faint middle")
    drawing.text(24, 360, "tick", "faint")
    x = 90
    for area, words in (("grey", "entered: takes no timers"),
                        ("orange", "next two: take no new timers, are being drained"),
                        ("blue", "takes timers of this distance")):
        drawing.box(x, 384, 16, 12, area)
        drawing.text(x + 22, 394, words)
        x += 50 + 7 * len(words)
    drawing.save(os.path.join(folder, "levels.svg"))


def drain(folder):
    drawing = Sketch(960, 330, "A crowded bucket is emptied ahead of its time",
                     "one bucket of level 1, S ticks long; it is empty before the position enters it")
    left, unit = 60, 105
    names = ("bucket n-2", "bucket n-1: time to drain", "bucket n")
    for i, (name, area) in enumerate(zip(names, ("grey", "orange", "blue"))):
        drawing.box(left + 280 * i, 86, 280, 30, area)
        drawing.text(left + 280 * i + 140, 105, name, "middle")
    drawing.text(left, 78, "level 1", "title")
    drawing.line([(left + 280, 70), (left + 280, 250)], "mark line-alarm")
    drawing.text(left + 286, 80, "the wheel wakes here if n is crowded", "faint")
    drawing.line([(left + 560, 70), (left + 560, 250)], "mark line-alarm")
    drawing.text(left + 566, 80, "n is empty: the position may enter it", "faint")
    for i, words in enumerate(("due", "slice", "due", "slice", "due", "slice")):
        x = left + 290 + 44 * i
        drawing.box(x, 150, 40, 26, "green" if i % 2 == 0 else "blue", 3)
        drawing.text(x + 20, 167, words, "faint middle")
    drawing.text(left, 167, "a pass", "title")
    drawing.text(left + 60, 160, "due: tw_wheel_advance()", "code")
    drawing.text(left + 60, 176, "slice: tw_wheel_drain_ahead()", "code")
    for i in range(3):
        x = left + 290 + 88 * i + 64
        drawing.arrow((x, 116), (x, 150))
        drawing.arrow((x, 176), (x + 30, 218))
    drawing.box(left, 220, 840, 26, "back")
    for i in range(1, 42):
        drawing.line([(left + 20 * i, 220), (left + 20 * i, 246)], "edge")
    drawing.text(left, 264, "level 0: a bucket is a tick", "faint")
    drawing.text(left, 292, "Due timers go first, then one slice of at most 48 with the lock held, "
                 "then the lock is let go and the clock read anew.")
    drawing.text(left, 310, "A bucket of at most 8 timers is looked through instead, "
                 "and the wheel sleeps until the first of them is due.")
    drawing.save(os.path.join(folder, "drain.svg"))


def locks(folder):
    drawing = Sketch(960, 430, "Locks, the outer one first",
                     "an arrow: the first may be held while the second is taken")
    rows = {
        "users": (24, 84, "grey", ("users_lock", "mutex: at open and close only")),
        "setup": (24, 164, "grey", ("tw_file.setup_lock", "mutex: making the wheel, growing")),
        "file": (24, 254, "green", ("tw_file.lock", "spinlock; only tasks take it")),
        "wheels": (340, 84, "grey", ("instances_lock", "mutex: the list of all wheels")),
        "expiry": (660, 84, "orange", ("expiry_lock", "PREEMPT_RT: across a soft pass")),
        "series": (660, 164, "green", ("twheel_periodic.lock", "raw: periodic work")),
        "base": (340, 254, "blue", ("twheel_base.lock", "raw, interrupts off; a slice at most")),
        "to": (660, 254, "blue", ("a second twheel_base.lock", "tried; else both, by address")),
        "wait": (340, 334, "back", ("hrtimer", "the kernel's own locks")),
    }
    drawing.text(24, 78, "a file of the device", "faint")
    drawing.text(340, 78, "wheels of modules", "faint")
    for x, y, area, lines in rows.values():
        drawing.labelled(x, y, 270, 48, area, lines)
    drawing.arrow((159, 212), (159, 254))
    drawing.arrow((159, 302), (159, 358), (340, 358))
    drawing.arrow((440, 132), (440, 254))
    drawing.arrow((660, 108), (640, 108), (640, 144), (500, 144), (500, 254))
    drawing.arrow((795, 212), (795, 230), (560, 230), (560, 254))
    drawing.arrow((610, 278), (660, 278))
    drawing.arrow((475, 302), (475, 334))
    drawing.text(24, 412, "A callback runs with none of them but expiry_lock. The alarm of a file takes none of them.")
    drawing.save(os.path.join(folder, "locks.svg"))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "pictures")
    for picture in (wheel, levels, drain, locks):
        picture(folder)


main()
