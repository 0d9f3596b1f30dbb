# SPDX-License-Identifier: GPL-2.0-only
"""Faults that a proof may find, chosen when it runs: faults.py PROOF FOLDER

Makes FOLDER/01, FOLDER/02 and so on: the sources, with a change of tools/test/mutants in a function
of the engine that the proof calls. Those that few proofs call come first. "reciprocal" has those
of the functions that compute it. FOLDER/N/what tells what N is.
"""
import collections
import glob
import os
import random
import re
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "tools/test/mutants")
import mutate  # noqa: E402
import tally  # noqa: E402

TRIES = 25
RECIPROCAL = "tw_wheel_shape", "shape_set_reciprocal"


def calls_of_proofs():
    """The functions that each proof calls, also by others of its file or of the engine"""
    bodies = {}
    for path in sorted(glob.glob("module/engine/*.[ch]")) + ["tools/test/proofs/wheel.c"]:
        with open(path) as file:
            bodies.update(re.findall(r"^(?:static )?[\w ]*?\*?\*?(\w+)\([^;{]*?\)\n\{\n(.*?)^\}",
                                     file.read(), re.M | re.S))

    def add_calls(names, name):
        for other in re.findall(r"\b((?:tw|proof)_\w+)\(", bodies[name]):
            if other in bodies and other not in names:
                names.add(other)
                add_calls(names, other)
        return names

    return {name: add_calls(set(), name) for name in bodies if name.startswith("prove_")}


def main(proof, folder):
    calls = calls_of_proofs()
    callers = collections.Counter(name for names in calls.values() for name in names)
    found = []
    for path in sorted(glob.glob("module/engine/*.[ch]")):
        with open(path) as file:
            source = file.read()
        for mutant in mutate.mutants(path, source):
            function = tally.function_of(source, mutant.start)
            if function in (RECIPROCAL if proof == "reciprocal" else calls[proof]):
                found.append((callers[function], mutant, source))
    found = random.Random(proof).sample(found, len(found))
    found.sort(key=lambda one: proof != "reciprocal" and one[0])
    for number, (_, mutant, source) in enumerate(found[:TRIES], 1):
        tree = os.path.join(folder, f"{number:02}")
        for part in "module/engine", "include", "tools/test/proofs":
            shutil.copytree(part, os.path.join(tree, part))
        with open(os.path.join(tree, mutant.path), "w") as file:
            file.write(mutate.applied(source, mutant))
        with open(os.path.join(tree, "what"), "w") as file:
            file.write(f"{mutant.path}:{mutant.line}: {mutant.before} as: {mutant.after}")


main(*sys.argv[1:])
