# SPDX-License-Identifier: GPL-2.0-only
"""What became of mutants.

A mutant counts if it compiles, and if its code differs from the original's and from that
of all others of its file. One that no test finds survives. Of all mutants of all files, FLOOR
percent must be found. A function that can be left empty without a test that notices it is one
that only guests test: its mutants are not tried. ELSEWHERE percent of all may be of those.

The log has a line for each. Another run goes on from it, as long as a file is the same. With
AGAIN=1, it tries again what survived. Of a file that has changed, or has moved, the log keeps
what survived: what survives now and did not is marked as new.
"""
import collections
import hashlib
import os
import re
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = 9
UNNOTICED = "nobody notices"


def stamp(path):
    """A number of this source without its comments, and of the mutator"""
    seen = hashlib.sha256()
    for name in path, os.path.join(HERE, "mutate.py"):
        with open(name) as file:
            seen.update(re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S).encode())
    return seen.hexdigest()[:16]


def function_of(source, at):
    """The function whose body has this offset"""
    head = source[:source.rfind("\n{", 0, at)]
    return re.findall(r"^(?:[A-Za-z_][^;{}\n]*?\b)?(\w+)\(", head, re.M)[-1]


class Tally:
    def __init__(self, paths, log):
        self.paths = paths
        self.lock = threading.Lock()
        self.counts = {path: collections.Counter() for path in paths}
        self.survivors = []
        # Of sources as they were, by what was changed.
        self.before = collections.Counter()
        # Whether a function can be left empty.
        self.empty = {}
        self.done = set()
        self.seen = set()
        # The code of each file as it is.
        self.original = {}
        self.shown = time.monotonic()
        self.stamps = {path: stamp(path) for path in paths}
        self.resume(log)

    def resume(self, log):
        rows = []
        try:
            with open(log) as file:
                # The last line may be half a line.
                rows = [row.rstrip("\n").split("\t") for row in file]
            rows = [row for row in rows if len(row) == COLUMNS]
        except FileNotFoundError:
            pass
        self.log = open(log, "w")
        last = {row[2].split(":")[0]: row[-1] for row in rows
                if row[-1] != self.stamps.get(row[2].split(":")[0])}
        for row in rows:
            what, number, path, made_of = row[0], row[1], row[2].split(":")[0], row[-1]
            if made_of != self.stamps.get(path):
                if made_of != last[path]:
                    continue
                if path in self.stamps or not os.path.exists(path):
                    if what != "SURVIVED":
                        continue
                    self.before[tuple(row[3:6])] += 1
            elif os.environ.get("AGAIN") and (what in ("SURVIVED", "elsewhere") or
                                              row[5] == UNNOTICED):
                continue
            elif what == "function":
                self.empty[path, row[4]] = row[5] == UNNOTICED
            else:
                self.done.add((path, int(number)))
                self.seen.add((path, row[-2]))
                self.counts[path][what] += 1
                if what == "SURVIVED":
                    self.survivors.append((row[2], *row[3:6]))
            print("\t".join(row), file=self.log, flush=True)
        if self.done:
            print(f"  {len(self.done)} mutants are in the log already", file=sys.stderr)

    def is_done(self, mutant):
        return (mutant.path, mutant.number) in self.done

    def is_new(self, mutant, code):
        """Whether no mutant of its file has had this code"""
        with self.lock:
            new = (mutant.path, code) not in self.seen
            self.seen.add((mutant.path, code))
            return new

    def write(self, what, number, place, kind, before, after, by, code):
        print(what, number, place, kind, before, after, by, code,
              self.stamps[place.split(":")[0]], sep="\t", file=self.log, flush=True)

    def emptied(self, path, function, noticed):
        with self.lock:
            self.empty[path, function] = not noticed
            self.write("function", "-", path, "emptied", function,
                       "noticed" if noticed else UNNOTICED, noticed or "", "-")

    def count(self, mutant, what, code="", by=""):
        with self.lock:
            self.counts[mutant.path][what] += 1
            place = f"{mutant.path}:{mutant.line}"
            self.write(what, mutant.number, place, mutant.kind, mutant.before, mutant.after,
                       by, code)
            if what == "SURVIVED":
                self.survivors.append((place, mutant.kind, mutant.before, mutant.after))
            if time.monotonic() - self.shown > 60:
                self.shown = time.monotonic()
                done = sum(sum(count.values()) for count in self.counts.values())
                print(f"  {done} mutants, at {place}", file=sys.stderr)

    def verdict(self, complete):
        """Print what survives, a table, and the last line; with @complete all mutants have run"""
        compares = bool(self.before)
        for place, *change in sorted(self.survivors):
            new = compares and self.before[tuple(change)] < 1
            self.before[tuple(change)] -= 1
            print(f"SURVIVED{', new' if new else ''}: {place}: {change[1]}\n    as: {change[2]}")
        row = "{:26} {:>6} {:>6} {:>8} {:>6} {:>6} {:>12} {:>9}".format
        print(row("", "differ", "found", "survive", "%", "same", "not compiled", "elsewhere"))
        total = collections.Counter()
        for path in self.paths + ["all"]:
            counts = self.counts.get(path, total)
            total.update(counts if path != "all" else {})
            found, survive = counts["found"], counts["SURVIVED"]
            print(row(path, found + survive, found, survive, percent(found, survive),
                      counts["same code"], counts["does not compile"], counts["elsewhere"]))
        empty = sorted(f"{name} of {path}" for (path, name), it_is in self.empty.items() if it_is)
        if empty:
            print("only guests test: " + ", ".join(empty))
        found, survive, elsewhere = total["found"], total["SURVIVED"], total["elsewhere"]
        good = found and (not complete or (
            found >= float(os.environ["FLOOR"]) / 100 * (found + survive) and
            elsewhere <= float(os.environ["ELSEWHERE"]) / 100 * (found + survive + elsewhere)))
        print(f"{found} found, {survive} survive: {percent(found, survive)} %, and {elsewhere} "
              "more are of functions that only guests test")
        sys.exit(not good)


def percent(found, survive):
    return f"{100 * found / (found + survive):.1f}" if found + survive else "-"
