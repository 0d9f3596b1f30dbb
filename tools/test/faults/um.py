#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Planted faults, looked for in user-mode Linux: see run.sh and guest.py.

Reads a line for each fault: its stamp, whether it hangs, its name, file, change, and test.
A line goes to the log for each that is found. What runs on real clocks finds a fault only
if it fails twice; and no test does by a case that the sound module fails here, too. A
guest that sleeps for ever finds only what is to hang.
"""
import collections
import os
import re
import subprocess
import sys
import threading

import guest

LOG = os.environ["LOG"]
# These do the same each time.
SURE = ["misuse", "twheel_kunit"]
# By test: the cases that fail here with the sound module; and which do, by test and case.
fails = collections.defaultdict(set)
sound = {}
lock = threading.RLock()


def suites(name):
    with open(f"kunit/{name}.c") as file:
        return re.findall(r"^extern struct kunit_suite (.*)_suite;", file.read(), re.M)


MODULE_OF = {suite: module for module, name in [("twheel_kunit", "main"),
                                                ("twheel_kunit_smp", "main_smp")]
             for suite in suites(name)}
PROGRAMS = sorted(name for name in os.listdir(f"{os.environ['ROOT_FOLDER']}/tests")
                  if name.endswith("_test"))


def tests_of(name, path, test):
    """What may find a fault, as what Worker.run takes"""
    if name.startswith("misuse-"):
        return [("misuse", None)]
    if test in MODULE_OF:
        return [(MODULE_OF[test], test)]
    if test:
        return [(test, None)]
    # No suite uses the device.
    if path.startswith("module/dev/"):
        return [(program, None) for program in PROGRAMS]
    return [("twheel_kunit", None), ("twheel_kunit_smp", None)]


def say(text):
    print(f"twheel: {text}", file=sys.stderr, flush=True)


def hung(by):
    return ": hangs " in by


def spun(by):
    return ": spins " in by


def case_of(by, test):
    failed = guest.FAILED.search(by)
    # A program may also fail after its cases.
    return failed[1] if failed and failed[1] != test[0] else None


def is_sound(worker, test, case):
    """Does the sound module pass the case here, or the test?"""
    with lock:
        if (test, case) not in sound:
            worker.place([])
            by = worker.run(*test, fails[test], case)
            sound[test, case] = not by
            if by:
                say(f"does not count here, for it is with the sound module: {by}")
        return sound[test, case]


def finder(worker, name, objects, tests, hangs):
    for test in tests:
        while True:
            worker.place(objects)
            by = worker.run(*test, fails[test])
            if not by:
                break
            case = case_of(by, test)
            if hung(by) and not hangs:
                say(f"{name}: {by}, and that is not what is expected")
                break
            if not is_sound(worker, test, case):
                if not case:
                    break
                fails[test].add(case)
                continue
            worker.place(objects)
            if (hung(by) or spun(by) or test[0] in SURE
                    or worker.run(*test, fails[test], case)):
                return by
            say(f"{name}: once only: {by}")
            break
    return None


def judge(worker, line):
    stamp, hangs, name, path, change, test = line.rstrip("\n").split("\t")
    subprocess.run(["sed", "-i", change, f"{worker.folder}/{path}"], check=True)
    objects = worker.tree.readers(path)
    try:
        if not objects or not all(worker.make(object, "-w") for object in objects):
            say(f"{name}: does not compile for Linux 7.2")
            return
        if worker.code(worker.folder, objects) == worker.code(guest.SOURCE, objects):
            say(f"{name}: changes no code for Linux 7.2")
            return
        by = finder(worker, name, objects, tests_of(name, path, test), hangs == "hangs")
    finally:
        for changed in objects + [path]:
            worker.restore(changed)
    if by:
        with lock, open(LOG, "a") as log:
            print(f"found: {name}: {by}", flush=True)
            print(stamp, name, "user-mode Linux", by, sep="\t", file=log)


def main():
    tree = guest.Tree()
    workers = [guest.Worker(tree, number) for number in range(int(os.environ["JOBS"]))]
    # Those first that take least: they name a test, and few objects are to be compiled.
    faults = sorted(sys.stdin, key=lambda line: (
        line.endswith("\t\n"), len(tree.readers(line.split("\t")[3]))))
    guest.judge_all(workers, faults, judge)


guest.until_ended(main)
