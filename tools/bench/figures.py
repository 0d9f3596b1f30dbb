#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The tables of figures in README.md and comparison.md: figures.py [--write | --take JSON-FILE]

Both show what figures.json has. A table stands between <!-- figures: NAME --> and
<!-- end of figures -->. Without arguments, says which document differs. --take renews
figures.json from what make bench has measured, and writes the tables.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIGURES = HERE / "figures.json"
DOCUMENTS = ("README.md", "tools/doc/comparison.md")
TABLE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->\n)", re.S)
MANY, SOME = 1000000, 100000

# For each table its columns: title and peer; and its rows: title, delays, operation, how
# many are pending, and which operation of the peers stands beside twheel's.
TABLES = {
    "kernel": (
        (("twheel", "twheel"), ("`timer_list`", "timer_list"), ("`hrtimer`", "hrtimer")),
        (("arm", "1-h", "arm", MANY, None),
         ("modify to a nearer deadline", "1-h", "modify-nearer", MANY, None),
         ("extend", "1-h", "extend", MANY, "modify-later"),
         ("cancel", "1-h", "cancel", MANY, None),
         ("expire, all on one tick", "one-tick", "expire", MANY, None),
         ("expire, a backlog of one hour", "1-h", "expire", MANY, None),
         ("expire, each at an instant of its own, interrupts included",
          "1-h", "busy-per-timer", SOME, None),
         ("a bucket of a million timers: longest stretch with interrupts off",
          "one-bucket", "interrupts-off-cascade", MANY, None),
         ("a bucket of a million timers: longest wait of a due timer",
          "one-bucket", "due-wait-cascade", MANY, None),
         ("bytes per timer", "none", "bytes", MANY, None))),
    "user": (
        (("twheel, mapping", "mapping"), ("batches of 256", "batch"),
         ("an ioctl each", "ioctl"), ("timerfd", "timerfd"), ("POSIX timers", "posix"),
         ("io_uring", "io_uring")),
        (("arm", "1-h", "arm", SOME, None),
         ("extend", "1-h", "extend", SOME, None),
         ("cancel", "1-h", "cancel", SOME, None),
         ("expire, to the event in the program's hands", "one-instant", "expire", SOME, None),
         ("bytes of the kernel's memory", "none", "bytes", SOME, None))),
}


def shown(figure):
    """Whole, and 1000000 is 1 000 000; but four digits stand together"""
    if figure is None:
        return "–"
    figure = round(figure)
    return f"{figure:,}".replace(",", " ") if figure > 9999 else str(figure)


def keys():
    """All figures that a table shows: delays, operation, how many pending, peer"""
    for columns, rows in TABLES.values():
        for _, delays, operation, count, beside in rows:
            for _, peer in columns:
                yield (delays, beside if beside and peer != "twheel" else operation,
                       count, peer)


def take(name):
    """Keep what the tables need of what was measured"""
    data = json.loads(pathlib.Path(name).read_text())
    if data["mode"] != "icount":
        sys.exit(f"{name} is not of MODE=icount: its figures would differ with each run")
    wanted = set(keys())
    lines = [json.dumps({key: one[key] for key in
                         ("delays", "operation", "count", "peer", "median")})
             for one in data["figures"]
             if (one["delays"], one["operation"], one["count"], one["peer"]) in wanted]
    missing = {operation for _, operation, _, peer in wanted if peer in ("twheel", "ioctl")} - \
              {json.loads(line)["operation"] for line in lines}
    if missing:
        sys.exit(f"{name} lacks {', '.join(sorted(missing))}: measure both halves, "
                 f"and {SOME} and {MANY} timers")
    head = json.dumps({key: data[key] for key in ("mode", "unit", "kernel")})
    FIGURES.write_text(f'{head[:-1]}, "figures": [\n' + ",\n".join(lines) + "\n]}\n")


def table(name, figures):
    columns, rows = TABLES[name]
    lines = ["| | " + " | ".join(title for title, _ in columns) + " |",
             "|---" * (len(columns) + 1) + "|"]
    for title, delays, operation, count, beside in rows:
        cells = [shown(figures.get((delays, beside if beside and peer != "twheel"
                                    else operation, count, peer)))
                 for _, peer in columns]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    if "--take" in sys.argv[1:]:
        take(sys.argv[2])
    data = json.loads(FIGURES.read_text())
    figures = {(one["delays"], one["operation"], one["count"], one["peer"]): one["median"]
               for one in data["figures"]}
    status = 0
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
