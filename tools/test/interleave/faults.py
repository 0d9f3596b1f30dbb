# SPDX-License-Identifier: GPL-2.0-only
"""Faults that the explorer has to find, chosen when it runs: none is written down.

usage: faults.py weave FOLDER
       faults.py find FOLDER

"weave" puts all conditions of core and API in FOLDER behind switches, by woven() of
tools/test/mutants. "find" runs FOLDER/explore, which is built of that. Each scene has to find
that a condition is never met, or always. It has to find that by pauses only, and nothing while
the calls are made one after the other. Where callbacks free their objects no call looks at them later, so there is no
condition of that kind. Such a scene has to find one at all. A line for each scene begins with 0 if
it has.
"""
import collections
import concurrent.futures
import glob
import os
import random
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mutants"))
sys.dont_write_bytecode = True
import mutate  # noqa: E402

# So many are tried on a scene, each for so many seconds of a CPU.
TRIES, SECONDS = 100, 5


def weave():
    number = 1
    with open("faults", "w") as faults:
        for path in sorted(glob.glob("module/core/*.c")):
            with open(path) as file:
                source, made = mutate.woven(file.read(), number)
            with open(path, "w") as file:
                file.write('#include "mutant.h"\n#line 1\n' + source)
            for line, text, becomes in made:
                print(path, line, text, becomes, sep="\t", file=faults)
            number += len(made)


def explore(*words):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return subprocess.run(["./explore", *words], capture_output=True, text=True,
                          errors="replace", preexec_fn=limit)


def shows(scene, number, by_pauses):
    run = explore(scene, "0", str(number))
    return run.returncode != 0 and (not by_pauses or "in order: good" in run.stdout)


def find_one(scene, met, scenes_that_meet, faults):
    # Those that few scenes meet come first. Neighbours are alike, so they are mixed.
    mixed = random.Random(scene).sample(sorted(met), len(met))
    mixed.sort(key=lambda number: scenes_that_meet[number])
    by_pauses = "callbacks free" not in scene
    for tries, number in enumerate(mixed[:TRIES], 1):
        if shows(scene, number, by_pauses):
            path, line, text, becomes = faults[number - 1]
            return f"0 {path}:{line}: {text} as: {becomes}, found by: {scene}, {tries} tried"
    return f"1 a fault, found by: {scene}, {len(mixed[:TRIES])} tried"


def find():
    with open("faults") as file:
        faults = [row.rstrip("\n").split("\t") for row in file]
    scenes = explore().stdout.splitlines()
    met = {scene: {int(line.split()[1]) for line in explore(scene, "0", "0").stdout.splitlines()
                   if line.startswith("met ")} for scene in scenes}
    scenes_that_meet = collections.Counter(number for one in met.values() for number in one)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(lambda scene: find_one(scene, met[scene], scenes_that_meet,
                                                    faults), scenes):
            print(line, flush=True)


os.chdir(sys.argv[2])
{"weave": weave, "find": find}[sys.argv[1]]()
