#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Show how far guests have come.

usage: progress.py --where RESULTS CONSOLE    what one guest is doing, in words
       progress.py [NAME=FOLDER]...           show all of them until they have ended

A FOLDER holds the "results" and "console" of a guest, "began" once it runs, and "ended"
when it has ended. On a terminal the line is renewed each second. In a log there is one
every half a minute, and one for each guest that ends. All goes to standard error.
"""
import os
import pathlib
import shutil
import sys
import time

sys.dont_write_bytecode = True
import results  # noqa: E402

PAUSE = 30


def progress(folder):
    return results.Progress(results.read(folder / "results"),
                            results.read(folder / "console"))


def told(name, folder):
    """What to say of a guest in a line of all"""
    if (folder / "ended").exists() or not (folder / "began").exists():
        return ""
    now = progress(folder)
    failed = f", {now.failed} failed" if now.failed else ""
    return f"{name}: {now.passed} passed{failed}, in {now.where}"


def show(guests):
    terminal = sys.stderr.isatty()
    start = last = time.monotonic()
    ended = set()
    while len(ended) < len(guests) and os.getppid() != 1:
        time.sleep(1)
        now = time.monotonic()
        for name, folder in guests:
            if name not in ended and (folder / "ended").exists():
                ended.add(name)
                done = progress(folder)
                took = (folder / "ended").stat().st_mtime - (folder / "began").stat().st_mtime
                print(("\r\033[K" if terminal else "") +
                      f"twheel:   {name}: {done.passed} passed, {done.failed} failed "
                      f"in {took:.0f} s; console: {folder / 'console'}", file=sys.stderr)
        if terminal or now - last >= PAUSE:
            line = "; ".join(filter(None, (told(*guest) for guest in guests)))
            line = f"  {now - start:.0f} s: {line}"
            if terminal:
                line = line[:shutil.get_terminal_size().columns - 1]
                print("\r\033[K" + line, end="", file=sys.stderr, flush=True)
            else:
                print("twheel: " + line, file=sys.stderr, flush=True)
                last = now
    if terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--where":
        print("in", results.Progress(results.read(pathlib.Path(sys.argv[2])),
                                     results.read(pathlib.Path(sys.argv[3]))))
        return
    if len(sys.argv) < 2 or not all("=" in word for word in sys.argv[1:]):
        sys.exit(__doc__)
    guests = [word.split("=", 1) for word in sys.argv[1:]]
    show([(name, pathlib.Path(folder)) for name, folder in guests])


main()
