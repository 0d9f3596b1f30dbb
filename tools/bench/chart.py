#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw the results of the benchmark: chart.py JSON-FILE FOLDER

Writes FOLDER/MODE-cost.svg, the cost of operations by the number of timers;
FOLDER/MODE-user.svg, the same in userspace; and FOLDER/MODE-crowd.svg. Each is written if
it was measured.
"""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "doc"))
sys.dont_write_bytecode = True
from drawing import Drawing  # noqa: E402

PEERS = ("twheel", "timer_list", "hrtimer")
USER_PEERS = ("cells", "batch", "ioctl", "timerfd", "posix", "io_uring")
# The names that leave room for more beside them.
NAMES = {"cells": "twheel, cells", "batch": "twheel, batches", "ioctl": "twheel, ioctl",
         "posix": "POSIX timers"}
SHAPES = {"twheel": "disc", "timer_list": "square", "hrtimer": "triangle",
          "cells": "disc", "batch": "diamond", "ioctl": "ring",
          "timerfd": "square", "posix": "triangle", "io_uring": "cross"}
# Title, and the lines: class, delays, operation, peer
PANELS = (
    ("arm", "1-h", "arm"),
    ("extend; others: modify, later", "1-h", "extend"),
    ("modify, nearer", "1-h", "modify-nearer"),
    ("cancel", "1-h", "cancel"),
    ("expire, all on one tick", "one-tick", "expire"),
    ("expire, a backlog of one hour", "1-h", "expire"),
)
# Operations that only twheel has, with that of the others: the tables have the same.
BESIDE = {"extend": "modify-later"}
# If the hour was not measured.
INSTEAD = {("1-h", "expire"): ("512-ticks", "expire", "expire, a backlog of 512 ticks")}
USER_PANELS = (
    ("arm", "1-h", "arm"),
    ("extend", "1-h", "extend"),
    ("cancel", "1-h", "cancel"),
    ("expire, event in hand", "one-instant", "expire"),
    ("create, once for each", "none", "create"),
    ("memory of the kernel", "none", "bytes"),
)
BARS = (
    ("longest stretch with interrupts off,", "while a full bucket cascades",
     "one-bucket", "interrupts-off-cascade"),
    ("longest stretch with interrupts off,", "while a full bucket expires",
     "one-bucket", "interrupts-off-expiry"),
    ("longest wait of a due timer,", "while a full bucket cascades",
     "one-bucket", "due-wait-cascade"),
    ("longest wait of a due timer,", "while a full bucket expires",
     "one-bucket", "due-wait-expiry"),
)

# Both schemes have a background of their own: a page need not follow the reader's scheme.
LIGHT = {"back": "#ffffff", "text": "#24292f", "faint": "#57606a", "grid": "#d8dee4",
         "twheel": "#0969da", "timer_list": "#bc4c00", "hrtimer": "#1a7f37",
         "cells": "#0969da", "batch": "#1b7c83", "ioctl": "#8250df",
         "timerfd": "#bc4c00", "posix": "#1a7f37", "io_uring": "#cf222e"}
DARK = {"back": "#0d1117", "text": "#e6edf3", "faint": "#9198a1", "grid": "#30363d",
        "twheel": "#58a6ff", "timer_list": "#f0883e", "hrtimer": "#56d364",
        "cells": "#58a6ff", "batch": "#39c5cf", "ioctl": "#bc8cff",
        "timerfd": "#f0883e", "posix": "#56d364", "io_uring": "#ff7b72"}


def style(scheme):
    """No variables: only browsers know them"""
    return "".join(f"{name} {{ {rule}: {scheme[colour]}; }}\n" for name, rule, colour in (
        (".back", "fill", "back"), ("text", "fill", "text"), (".faint", "fill", "faint"),
        (".grid", "stroke", "grid"),
        *((f".{peer}", "fill", peer) for peer in SHAPES),
        *((f".line-{peer}", "stroke", peer) for peer in SHAPES)))


STYLE = """
text { font: 12px system-ui, sans-serif; }
.title { font-weight: 600; font-size: 13px; }
.head { font-weight: 600; font-size: 16px; }
.faint { font-size: 11px; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.line { fill: none; stroke-width: 2; }
""" + style(LIGHT) + "@media (prefers-color-scheme: dark) {\n" + style(DARK) + "}\n"


class Chart(Drawing):
    STYLE = STYLE

    def rule(self, x1, y1, x2, y2):
        self.parts.append(f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" '
                          f'x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def path(self, points, peer):
        self.parts.append(f'<polyline class="line line-{peer}" points="'
                          + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')

    def mark(self, x, y, peer):
        """A shape for each peer: not every reader sees the colours"""
        shape, kind = {
            "disc": (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" ', ""),
            "ring": (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" ', "line line-"),
            "square": (f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" ', ""),
            "triangle": (f'<path d="M{x:.1f},{y - 4.5:.1f} l4.5,8 h-9 z" ', ""),
            "diamond": (f'<path d="M{x:.1f},{y - 5:.1f} l5,5 l-5,5 l-5,-5 z" ', ""),
            "cross": (f'<path d="M{x - 4:.1f},{y - 4:.1f} l8,8 m0,-8 l-8,8" ', "line line-"),
        }[SHAPES[peer]]
        self.parts.append(f'{shape}class="{kind}{peer}"/>')

    def legend(self, y, peers=PEERS):
        x = self.size[0] - 24 - (110 if len(peers) <= 3 else 130) * len(peers)
        for peer in peers:
            self.mark(x, y - 4, peer)
            self.text(x + 10, y, NAMES.get(peer, peer))
            x += 110 if len(peers) <= 3 else 130


def short(number):
    """1000 as 1k"""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.3g}{letter}"
    return f"{number:.3g}"


def ceiling(most):
    """The next round number, and the distance of the lines to draw"""
    step = 10 ** math.floor(math.log10(max(most, 1)))
    for part in (0.2, 0.5, 1, 2):
        if most <= 5 * part * step:
            return part * step * math.ceil(most / (part * step)), part * step
    return 10 * step, 2 * step


def linear_scale(most):
    """The place of each figure, from 0 to 1, and the figures to draw lines at"""
    top, step = ceiling(most)
    return (lambda figure: figure / top,
            [step * i for i in range(round(top / step * 1.001) + 1)])


def decade_scale(least, most):
    low = math.floor(math.log10(max(least, 1)))
    high = max(math.ceil(math.log10(max(most, 1))), low + 1)
    apart = max((high - low + 3) // 4, 1)
    return (lambda figure: max(math.log10(max(figure, 1)) - low, 0) / (high - low),
            [10 ** decade for decade in range(low, high + 1, apart)])


def panel(drawing, x, y, width, height, title, unit, lines, decades=False):
    """Lines of one operation: a list of (peer, [(count, figure)...])"""
    counts = sorted({count for _, points in lines for count, _ in points})
    figures = [figure for _, points in lines for _, figure in points]
    scale, rules = (decade_scale(min(figures), max(figures)) if decades else
                    linear_scale(max(figures)))
    low, high = math.log10(counts[0]), math.log10(counts[-1])

    def at(count, figure):
        share = (math.log10(count) - low) / (high - low) if high > low else 0.5
        return x + 14 + share * (width - 28), y + height * (1 - scale(figure))

    drawing.text(x, y - 22, title, "title")
    drawing.text(x, y - 8, unit, "faint")
    for figure in rules:
        drawing.rule(x, at(counts[0], figure)[1], x + width, at(counts[0], figure)[1])
        drawing.text(x - 6, at(counts[0], figure)[1] + 4, short(figure), "faint end")
    for count in counts:
        drawing.text(at(count, 0)[0], y + height + 16, short(count), "faint middle")
    drawing.text(x + width / 2, y + height + 32, "timers pending", "faint middle")
    for peer, points in lines:
        drawing.path([at(*point) for point in points], peer)
        for point in points:
            drawing.mark(*at(*point), peer)


def cost_chart(data, get, folder):
    counts = sorted({figure["count"] for figure in data["figures"]
                     if figure["peer"] in PEERS})
    drawing = Chart(960, 600, "What an operation costs",
                    "stock Debian kernel, one CPU, software emulation"
                    if data["mode"] == "icount" else
                    "stock Debian kernel, one CPU, medians")
    drawing.legend(32)
    for i, (title, delays, operation) in enumerate(PANELS):
        if not get(delays, operation, counts[0], "twheel"):
            delays, operation, title = INSTEAD.get((delays, operation),
                                                   (delays, operation, title))
        lines = []
        for peer in PEERS:
            done = operation if peer == "twheel" else BESIDE.get(operation, operation)
            points = [(count, get(delays, done, count, peer)) for count in counts]
            points = [point for point in points if point[1] is not None]
            if points:
                lines.append((peer, points))
        if lines:
            panel(drawing, 60 + i % 3 * 305, 110 + i // 3 * 255, 250, 150, title,
                  f"{data['unit']} per timer", lines)
    drawing.save(os.path.join(folder, f"{data['mode']}-cost.svg"))


def user_chart(data, get, folder):
    counts = sorted({figure["count"] for figure in data["figures"]
                     if figure["peer"] in USER_PEERS})
    drawing = Chart(960, 620, "What an operation costs in userspace",
                    "stock Debian kernel, one CPU; logarithmic")
    drawing.legend(72, USER_PEERS)
    for i, (title, delays, operation) in enumerate(USER_PANELS):
        lines = [(peer, [(count, get(delays, operation, count, peer)) for count in counts
                         if get(delays, operation, count, peer) is not None])
                 for peer in USER_PEERS]
        unit = "bytes" if operation == "bytes" else data["unit"]
        panel(drawing, 60 + i % 3 * 305, 130 + i // 3 * 255, 250, 150, title,
              f"{unit} per timer", [line for line in lines if line[1]], decades=True)
    drawing.save(os.path.join(folder, f"{data['mode']}-user.svg"))


def crowd_chart(data, get, folder):
    count = max(figure["count"] for figure in data["figures"])
    if get("one-bucket", "due-wait-expiry", count, "twheel") is None:
        return
    rows = []
    for first, second, delays, operation in BARS:
        bars = [(peer, get(delays, operation, count, peer)) for peer in PEERS]
        rows.append((first, second, [bar for bar in bars if bar[1] is not None]))
    height = 100 + sum(20 * max(len(bars), 2) + 24 for _, _, bars in rows)
    drawing = Chart(960, height + 36, f"What {short(count)} timers in one upper bucket "
                    "do to others", f"{data['unit']}, beside a machine without them; "
                    "logarithmic; timer_list and hrtimer do not cascade")
    drawing.legend(32)
    most = max(figure for _, _, bars in rows for _, figure in bars)
    decades = max(math.ceil(math.log10(max(most, 10))), 1)
    left, right = 270, 880

    def at(figure):
        return left + (right - left) * math.log10(max(figure, 1)) / decades

    for decade in range(decades + 1):
        drawing.rule(at(10 ** decade), 74, at(10 ** decade), height)
        drawing.text(at(10 ** decade), height + 18, short(10 ** decade), "faint middle")
    y = 92
    for first, second, bars in rows:
        drawing.text(24, y + 8, first)
        drawing.text(24, y + 24, second)
        for i, (peer, figure) in enumerate(bars):
            drawing.parts.append(
                f'<rect class="{peer}" x="{left}" y="{y - 4 + 20 * i}" '
                f'width="{max(at(figure) - left, 1.5):.1f}" height="12" rx="1.5"/>')
            drawing.text(at(figure) + 7, y + 7 + 20 * i, short(figure))
        y += 20 * max(len(bars), 2) + 24
    drawing.save(os.path.join(folder, f"{data['mode']}-crowd.svg"))


def main():
    name, folder = sys.argv[1:3]
    with open(name) as file:
        data = json.load(file)
    figures = {(figure["delays"], figure["operation"], figure["count"], figure["peer"]):
               figure["median"] for figure in data["figures"]}

    def get(*key):
        return figures.get(key)

    peers = {figure["peer"] for figure in data["figures"]}
    if "twheel" in peers:
        cost_chart(data, get, folder)
        crowd_chart(data, get, folder)
    if peers & set(USER_PEERS):
        user_chart(data, get, folder)


main()
