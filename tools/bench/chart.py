#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw the results of the benchmark: chart.py JSON-FILE FOLDER

By gnuplot, FOLDER/MODE-cost.svg has the cost of operations by the number of timers, and
FOLDER/MODE-user.svg the same in userspace. Each is written if it was measured.
"""
import json
import subprocess
import sys

# Of each chart: its title, the peers, and for each panel title, delays and operation.
CHARTS = {
    "cost": ("What an operation costs", ("twheel", "timer_list", "hrtimer"), (
        ("arm", "1-h", "arm"),
        ("extend; others: modify, later", "1-h", "extend"),
        ("modify, nearer", "1-h", "modify-nearer"),
        ("cancel", "1-h", "cancel"),
        ("expire, all on one tick", "one-tick", "expire"),
        ("expire, a backlog of one hour", "1-h", "expire"))),
    "user": ("What an operation costs in userspace",
             ("cells", "batch", "ioctl", "timerfd", "posix", "io_uring"), (
                 ("arm", "1-h", "arm"),
                 ("extend", "1-h", "extend"),
                 ("cancel", "1-h", "cancel"),
                 ("expire, event in hand", "one-instant", "expire"),
                 ("create, once for each", "none", "create"),
                 ("memory of the kernel", "none", "bytes"))),
}
SETTINGS = """set terminal svg size 960,620 background "white"
set logscale xy
set xlabel "timers pending"
set key below
set format "%.0s%c"
"""


def points(figures, delays, operation, peer):
    """Only twheel extends: others modify. The tables have the same."""
    of = [key for key in ((delays, operation, peer), (delays, "modify-later", peer))
          if key in figures and (operation == "extend" or key[1] == operation)]
    return sorted(figures[of[0]]) if of else []


def main():
    name, folder = sys.argv[1:3]
    with open(name, encoding="utf-8") as file:
        data = json.load(file)
    figures = {}
    for one in data["figures"]:
        figures.setdefault((one["delays"], one["operation"], one["peer"]), []).append(
            (one["count"], one["median"]))
    for chart, (title, peers, panels) in CHARTS.items():
        script = f'{SETTINGS}set output "{folder}/{data["mode"]}-{chart}.svg"\n' \
                 f'set multiplot layout 2,3 title "{title}"\n'
        drawn = False
        for what, delays, operation in panels:
            lines = {peer: some for peer in peers
                     if (some := points(figures, delays, operation, peer))}
            if not lines:
                continue
            drawn = True
            unit = "bytes" if operation == "bytes" else data["unit"]
            script += f'set title "{what}"\nset ylabel "{unit} per timer"\nplot ' + ", ".join(
                f'"-" with linespoints title "{peer}" noenhanced' for peer in lines) + "\n"
            for some in lines.values():
                script += "".join(f"{count} {figure}\n" for count, figure in some) + "e\n"
        if drawn:
            subprocess.run(["gnuplot"], input=script, text=True, check=True)


main()
