#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Show what the benchmark measured: bench_table.py RESULTS JSON-FILE"""
import json
import sys

PEERS = ("twheel", "timer_list", "hrtimer")
# Operations of twheel alone, beside the one of a peer that it stands in for.
INSTEAD = {"extend": "modify-later", "arm-relative": "arm", "cancel-again": "cancel"}


def main():
    results, out = sys.argv[1:3]
    lines = open(results).read().replace("\r", "").splitlines()
    if not lines or lines[-1] != "complete":
        sys.exit("the benchmark did not come to its end: see the console beside " + results)
    figures = {}
    for line in lines[:-1]:
        peer, operation, count, figure = line.split()
        figures.setdefault(int(count), {}).setdefault(operation, {})[peer] = float(figure)
    with open(out, "w") as file:
        json.dump(figures, file, indent=1)

    for count, operations in sorted(figures.items()):
        print(f"\n{count} pending" if count > 1 else "\nsizes")
        print(f"  {'':16}" + "".join(f"{peer:>12}" for peer in PEERS) + f"{'ratio':>12}")
        for operation, row in operations.items():
            if operation == "empty":
                continue
            print(f"  {operation:16}" + "".join(
                f"{row[peer]:12.0f}" if peer in row else f"{'':12}" for peer in PEERS), end="")
            against = operations.get(INSTEAD.get(operation, operation), {}).get("timer_list")
            print(f"{row['twheel'] / against:12.2f}" if against else "")


main()
