#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the system calls of servers: calls.py RESULTS, see server-guest.sh"""
import re
import sys

SERVERS = ("idle_server", "idle_server_timerfd")
# The device's requests, by number.
REQUESTS = {0x10: "INFO", 0x11: "SETUP", 0x12: "OP", 0x13: "OPS"}


def name(call):
    """ioctl _IOC(..., 0xe7, 0x12, 0x40) by the request's name"""
    request = re.search(r"0xe7, (0x[0-9a-f]+|0)", call)
    return f"ioctl TWHEEL_IOC_{REQUESTS[int(request[1], 0)]}" if request else call


def main():
    lines = open(sys.argv[1]).read().replace("\r", "").splitlines()
    if not lines or lines[-1] != "complete":
        sys.exit(f"the servers did not come to their end: see {sys.argv[1]} and the "
                 "console beside it")
    calls, said = {}, iter([line[2:] for line in lines if line.startswith("# ")])
    for line in lines[:-1]:
        if not line.startswith("#"):
            server, count, call = line.split(maxsplit=2)
            calls.setdefault(name(call), {})[server] = int(count)
    for server in SERVERS:
        print(f"{server}: {next(said)}; {next(said)}")
    print(f"\n{'system calls':34}" + "".join(f"{server:>22}" for server in SERVERS))
    for call, counts in sorted(calls.items(), key=lambda item: -max(item[1].values(), default=0)):
        print(f"{call:34}" + "".join(f"{counts.get(server, 0):22}" for server in SERVERS))
    print(f"{'all':34}" + "".join(
        f"{sum(counts.get(server, 0) for counts in calls.values()):22}" for server in SERVERS))


main()
