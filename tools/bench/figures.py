#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The figures in the documents: figures.py [--write | --take JSON-FILE]

The tables of README.md and comparison.md show what figures.json has. A table stands between
<!-- figures: NAME --> and <!-- end of figures -->. Without arguments, says which document
differs, and where a document has a figure outside of its tables. --take renews figures.json
from what make bench has measured in one mode, and writes the tables. A row of figures.json has
the delays, the operation, how many timers are pending, and the figure of each peer. What other
commands have measured stands in the documents only.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIGURES = HERE / "figures.json"
DOCUMENTS = ("README.md", "tools/doc/comparison.md")
NO_STRAYS = (*DOCUMENTS, "tools/doc/design.md", "tools/doc/proof.md")
TABLE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->\n)", re.S)
STRAY = re.compile(r"\d\s(?:instructions|nanoseconds|ns)\b")
MANY, HALF, SOME, FEW = 1000000, 500000, 100000, 1000
COUNT, NS, WHEELS = "icount", "native", "wheels"
KERNEL = (("twheel", "twheel"), ("`timer_list`", "timer_list"), ("`hrtimer`", "hrtimer"))

# For each table its columns: title, peer, and mode. Then its rows: title, delays, operation,
# how many are pending, and which operation of the peers stands beside twheel's. A row has the
# mode where columns have none.
TABLES = {
    "kernel": (
        tuple((title, peer, COUNT) for title, peer in KERNEL)
        + tuple((f"{title}, ns", peer, NS) for title, peer in KERNEL),
        (("arm", "1-h", "arm", MANY, None),
         ("arm, 32 in a call", "1-h", "arm-many", MANY, "arm"),
         ("arm, the others pinned to their CPU", "1-h", "arm", MANY, "arm-pinned"),
         ("arm with a delay instead of a deadline", "1-h", "arm-relative", MANY, None),
         ("modify to a nearer deadline", "1-h", "modify-nearer", MANY, None),
         ("extend", "1-h", "extend", MANY, "modify-later"),
         ("cancel", "1-h", "cancel", MANY, None),
         ("cancel, 32 in a call", "1-h", "cancel-many", MANY, "cancel"),
         ("a life: arm, ten extends, nine of ten cancelled; with delays",
          "1-h", "life", MANY, None),
         ("expire, all on one tick", "one-tick", "expire", MANY, None),
         ("the same, with moving down before", "one-tick", "expire-whole", MANY, None),
         ("and more for one that was extended once", "one-tick", "extended-more", MANY, None),
         ("expire, a backlog of one hour", "1-h", "expire", MANY, None),
         ("expire, each at an instant of its own, interrupts included",
          "1-h", "busy-per-timer", SOME, None),
         ("a bucket of a million timers: longest stretch with interrupts off",
          "one-bucket", "interrupts-off-cascade", MANY, None),
         ("a bucket of a million timers: longest wait of a due timer",
          "one-bucket", "due-wait-cascade", MANY, None),
         ("bytes per timer", "none", "bytes", MANY, None),
         ("a thousand pending: arm", "1-h", "arm", FEW, None),
         ("a thousand pending: extend", "1-h", "extend", FEW, "modify-later"),
         ("a thousand pending: cancel", "1-h", "cancel", FEW, None),
         ("a thousand pending: expire, a backlog of one hour", "1-h", "expire", FEW, None))),
    "user": (
        tuple((title, peer, COUNT) for title, peer in (
            ("twheel, cells", "cells"), ("batches of 256", "batch"),
            ("an ioctl each", "ioctl"), ("timerfd", "timerfd"), ("POSIX timers", "posix"),
            ("io_uring", "io_uring"))),
        (("arm", "1-h", "arm", SOME, None),
         ("arm, and all that it costs later: 5 s or 60 s, 90 % cancelled",
          "traffic", "arm-long", SOME, None),
         ("extend", "1-h", "extend", SOME, None),
         ("cancel", "1-h", "cancel", SOME, None),
         ("expire, to the event in the program's hands", "one-instant", "expire", SOME, None),
         ("the same, read one by one", "one-tick", "read-1", SOME, None),
         ("by 8 in a read()", "one-tick", "read-8", SOME, None),
         ("by 64 in a read()", "one-tick", "read-64", SOME, None),
         ("each at an instant of its own: interrupt, epoll_wait(), read()",
          "spread", "event", SOME, None),
         ("a lone timer: arm it, epoll_wait(), read()", "3-ms", "lone-epoll-once", SOME, None),
         ("a lone periodic timer: epoll_wait(), read()",
          "3-ms", "lone-epoll-periodic", SOME, None),
         ("a lone periodic timer: read() that waits", "3-ms", "lone-read-periodic", SOME, None),
         ("from the deadline until epoll_wait() has returned", "3-ms", "wake-epoll", SOME, None),
         ("an idle server, each of 60 s extended once a second: the kernel's part, in a second",
          "60-s", "idle-server", SOME, None),
         ("bytes of the kernel's memory", "none", "bytes", SOME, None))),
    # The same in README.md: few rows, and time before instructions.
    "short": (
        tuple((f"{title}, ns", peer, NS) for title, peer in KERNEL)
        + tuple((f"{title}, instructions", peer, COUNT) for title, peer in KERNEL),
        (("arm", "1-h", "arm", MANY, None),
         ("extend", "1-h", "extend", MANY, "modify-later"),
         ("cancel", "1-h", "cancel", MANY, None),
         ("cancel, 32 in a call", "1-h", "cancel-many", MANY, "cancel"),
         ("expire, all on one tick", "one-tick", "expire", MANY, None),
         ("bytes per timer", "none", "bytes", MANY, None))),
    "life": (
        tuple((title, peer, None) for title, peer in (
            ("process wheel", "process"), ("cells", "cells"), ("libev", "libev"),
            ("libev, time noted only", "libev-lazy"))),
        (("arm, ten extends, cancel", "1-min", "life", SOME, None, COUNT),
         ("in ns", "1-min", "life", SOME, None, NS),
         ("an arm, and all that it costs later: 5 s or 60 s, 90 % cancelled",
          "traffic", "arm-long", SOME, None, COUNT),
         ("arm", "1-min", "arm", SOME, None, COUNT),
         ("in ns", "1-min", "arm", SOME, None, NS),
         ("extend", "1-min", "extend", SOME, None, COUNT),
         ("in ns", "1-min", "extend", SOME, None, NS),
         ("cancel", "1-min", "cancel", SOME, None, COUNT),
         ("in ns", "1-min", "cancel", SOME, None, NS))),
    "wheels": (
        tuple((title, peer, WHEELS) for title, peer in (
            ("process wheel", "process"), ("twheel_add_at()", "added"),
            ("ratas", "ratas"), ("wahern/timeout", "wahern"),
            ("libev", "libev"))),
        tuple((f"{many}: {title}", delays, operation, count, None)
              for many, count in (("10³", FEW), ("10⁵", SOME), ("5·10⁵", HALF), ("10⁶", MANY))
              for title, delays, operation in (
                  ("arm, ten extends, cancel", "1-min", "life"), ("arm", "1-min", "arm"),
                  ("extend", "1-min", "extend"), ("cancel", "1-min", "cancel"),
                  ("expire within a minute", "1-min", "drain"),
                  ("all on one tick: arm", "one-tick", "arm"),
                  ("all on one tick: expire", "one-tick", "expire"),
                  ("over an hour: arm", "1-h", "arm"),
                  ("over an hour: arm, from an empty wheel on", "1-h", "arm-empty"),
                  ("over an hour: extend", "1-h", "extend"),
                  ("over an hour: cancel", "1-h", "cancel"),
                  ("over an hour: cancel, until it is empty", "1-h", "cancel-empty"),
                  ("over an hour: expire", "1-h", "expire")))
        + (("bytes of a timer", "none", "bytes-timer", SOME, None),
           ("bytes of a new wheel", "none", "bytes-wheel", SOME, None))),
    "threads": (
        tuple((title, peer, WHEELS) for title, peer in (
            ("one process wheel", "shared"), ("one for each thread", "each"),
            ("a plain one for each thread, with a queue of cancels", "queues"))),
        (("one thread", "mix", "threads-1", SOME, None),
         ("two threads", "mix", "threads-2", SOME, None))),
}
# What tells a figure from another one of the same mode.
KEY = ("delays", "operation", "count", "peer")
# Only twheel's own are in every mode: a peer may lack an operation.
OURS = ("twheel", "ioctl", "cells", "process")


def shown(figure):
    """Whole, and 1000000 is 1 000 000; but four digits stand together"""
    if figure is None:
        return "–"
    figure = round(figure) if figure >= 9.95 or figure == round(figure) else round(figure, 1)
    return f"{figure:,}".replace(",", " ") if figure > 9999 else str(figure)


def key_of(row, column):
    """Mode, delays, operation, how many pending, peer"""
    _, delays, operation, count, beside, *mode = row
    _, peer, column_mode = column
    return (column_mode or mode[0], delays,
            beside if beside and peer != "twheel" else operation, count, peer)


def read():
    """Of each mode the kernel, and the figures by delays, operation, how many, and peer"""
    return {mode: (part["kernel"], {(*row[:3], peer): figure for row in part["rows"]
                                    for peer, figure in row[3].items()})
            for mode, part in json.loads(FIGURES.read_text()).items()}


def write(modes):
    parts = []
    for mode, (kernel, figures) in sorted(modes.items()):
        rows = {}
        for (*row, peer), figure in figures.items():
            rows.setdefault(tuple(row), {})[peer] = figure
        parts.append(f'"{mode}": {{"kernel": "{kernel}", "rows": [\n' + ",\n".join(
            json.dumps([*row, peers]) for row, peers in rows.items()) + "\n]}")
    FIGURES.write_text("{" + ",\n".join(parts) + "}\n")


def take(name):
    """Keep what the tables need of what was measured"""
    data = json.loads(pathlib.Path(name).read_text())
    mode = data["mode"]
    if any(goal["met"] is None for goal in data["goals"]):
        sys.exit(f"{name}: the spread is wider than a difference that counts: measure again "
                 "on a quiet machine")
    wanted = {key[1:] for columns, rows in TABLES.values() for row in rows
              for column in columns if (key := key_of(row, column))[0] == mode}
    measured = {key: one["median"] for one in data["figures"]
                if (key := tuple(one[part] for part in KEY)) in wanted}
    peers = {one["peer"] for one in data["figures"]}
    if mode == COUNT:
        missing = {key[:3] for key in wanted if key[3] in OURS and key[3] in peers} - \
                  {key[:3] for key in measured}
        if missing:
            sys.exit(f"{name} lacks {sorted(missing)}: measure both halves, and {FEW}, {SOME} "
                     f"and {MANY} timers")
    modes = read()
    # A half that was not measured stays as it was.
    modes[mode] = (data["kernel"] or "none",
                   {key: figure for key, figure in modes[mode][1].items()
                    if key[3] not in peers} | measured)
    write(modes)


def table(name, figures):
    """What has been measured, without the columns and rows in which nothing has"""
    columns, rows = TABLES[name]
    cells = [[figures.get(key_of(row, column)) for column in columns] for row in rows]
    used = [i for i in range(len(columns)) if any(row[i] is not None for row in cells)]
    if not used:
        return "Not measured yet.\n"
    lines = ["| | " + " | ".join(columns[i][0] for i in used) + " |",
             "|---" * (len(used) + 1) + "|"]
    lines += [f"| {row[0]} | " + " | ".join(shown(cells[n][i]) for i in used) + " |"
              for n, row in enumerate(rows) if any(cell is not None for cell in cells[n])]
    return "\n".join(lines) + "\n"


def main():
    if "--take" in sys.argv[1:]:
        take(sys.argv[2])
    figures = {(mode, *key): figure for mode, (_, part) in read().items()
               for key, figure in part.items()}
    status = 0
    for name in NO_STRAYS:
        # The number of a line stays as it is.
        text = TABLE.sub(lambda found: "\n" * found[0].count("\n"), (ROOT / name).read_text())
        for found in STRAY.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            print(f"{name}:{line}: this figure is not one of tools/bench/figures.json: "
                  + text.splitlines()[line - 1].strip())
            status = 1
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text()
        if not TABLE.search(text):
            sys.exit(f"{name} has no table of figures")
        new = TABLE.sub(lambda found: found[1] + table(found[2], figures) + found[3], text)
        if new == text:
            continue
        if sys.argv[1:]:
            path.write_text(new)
        else:
            print(f"{name}: its figures are not those of tools/bench/figures.json; "
                  "tools/bench/figures.py --write renews them")
            status = 1
    sys.exit(status)


main()
