#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Proves that the engine's division is exact: reciprocal.py PROGRAM

PROGRAM prints what the engine multiplies by instead of dividing, and what it adds to round up. For
each of some thousand ticks, and all instants of 63 bits, z3 proves that the product is the quotient
rounded down. It looks for an instant where it is not, in linear arithmetic of integers. It proves as
well that no deadline is too late to be rounded up.
"""
import random
import subprocess
import sys

TICK_MAX = 3600 * 10**9
NEVER = 2**63 - 1 - TICK_MAX


def ticks():
    """Small ones, powers and their neighbours, and some by chance: the same each time."""
    some = set(range(1, 300)) | set(range(1000, 1100))
    for base in (2, 10):
        power = 1
        while power <= TICK_MAX:
            some |= {power - 1, power, power + 1}
            power *= base
    dice = random.Random(1)
    some |= {dice.randrange(2, TICK_MAX) >> dice.randrange(40) for _ in range(600)}
    some |= {TICK_MAX - 1, TICK_MAX}
    return sorted(tick for tick in some if 1 <= tick <= TICK_MAX)


def query(tick, recip, shift, up):
    """Unsatisfiable, if no instant is divided wrongly, and no deadline overflows."""
    whole = 1 << (64 + shift)
    return (f"(push)(assert (= (* 2 ns {recip}) (+ (* q {whole}) r)))"
            f"(assert (< r {whole}))"
            f"(assert (or (> (* q {tick}) ns) (<= (* (+ q 1) {tick}) ns)"
            f" (and (<= ns {NEVER}) (or (>= (+ (* 2 ns) {up}) {1 << 64})"
            f" (not (= (* 2 (- {tick} 1)) {up}))))))"
            "(check-sat)(pop)\n")


def main():
    wanted = ticks()
    rows = subprocess.run([sys.argv[1], *map(str, wanted)], check=True,
                          capture_output=True, text=True).stdout.splitlines()
    script = ("(declare-const ns Int)(declare-const q Int)(declare-const r Int)"
              f"(assert (and (>= ns 0) (< ns {1 << 63}) (>= q 0) (>= r 0)))\n")
    for tick, row in zip(wanted, rows):
        found, recip, shift, up = map(int, row.split())
        if found != tick:
            sys.exit(f"a tick of {tick}: the program says {row}")
        script += query(tick, recip, shift, up)
    answers = subprocess.run(["z3", "-in"], input=script, check=True, text=True,
                             capture_output=True).stdout.split()
    wrong = [tick for tick, answer in zip(wanted, answers) if answer != "unsat"]
    if len(answers) != len(wanted) or wrong:
        sys.exit(f"not proved for {len(wrong)} ticks, the first of them {wrong[:5]}")
    print(f"{len(wanted)} ticks")


main()
