# SPDX-License-Identifier: GPL-2.0-only
"""Serve thousands of queries by dnsproxy, and check its answers and what it has counted.

The servers behind it answer some of the queries at once, some well before their timeout, some
after it, and some never. Argument: the program.
"""
import collections
import heapq
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time

QUERIES = 8000
BATCH = 64
# Seconds, for those who ask for no recursion and those who do.
TIMEOUTS = (4, 6)
# When a query is answered, as a part of its timeout.
AT_ONCE, BEFORE, AFTER, NEVER = KINDS = (0, 0.6, 1.5, None)

Query = collections.namedtuple("Query", "number server text address sent")


def bound():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    udp.bind(("127.0.0.1", 0))
    udp.settimeout(60)
    return udp


class Load:
    def __init__(self, program, folder):
        self.client, self.servers, proxy = bound(), [bound(), bound()], bound()
        self.proxy = proxy.getsockname()
        proxy.close()
        with open(f"{folder}/config", "w") as config:
            for name, server, timeout in zip(("authoritative", "recursive"), self.servers,
                                             TIMEOUTS):
                config.write(f"{name} 127.0.0.1\n{name}-port {server.getsockname()[1]}\n"
                             f"{name}-timeout {timeout}\n")
            config.write(f"listen 127.0.0.1\nport {self.proxy[1]}\nstatistics 1\n"
                         "internal 127.0.0.1\n")
        self.log = open(f"{folder}/log", "w+")
        self.process = subprocess.Popen([program, "-c", config.name], stderr=self.log)
        self.asked = {kind: set() for kind in KINDS}
        self.due, self.answered, self.late = [], set(), set()
        time.sleep(1)

    def ask(self, numbers):
        sent = time.monotonic()
        for number in numbers:
            recursion = number % 2 << 8
            self.client.sendto(struct.pack("!6HI", number % 65536, recursion, 1, 0, 0, 0, number),
                               self.proxy)
        for number in numbers:
            server = self.servers[number % 2]
            text, address = server.recvfrom(512)
            query = Query(struct.unpack("!I", text[12:])[0], server, text, address, sent)
            kind = KINDS[query.number // 2 % 4]
            self.asked[kind].add(query.number)
            if kind is not NEVER:
                heapq.heappush(self.due, (sent + kind * self.timeout(query), query.number, query))
        self.answer_due(time.monotonic())

    def timeout(self, query):
        return TIMEOUTS[self.servers.index(query.server)]

    def receive(self, until):
        """An answer, or False if none has come by then"""
        if not select.select([self.client], [], [], max(0, until - time.monotonic()))[0]:
            return False
        name, number = struct.unpack("!H10xI", self.client.recv(512))
        # Whatever name dnsproxy has given to it.
        if name == number % 65536:
            self.answered.add(number)
        return True

    def answer(self, query):
        """Answer a query, and wait for what comes of it"""
        end = query.sent + self.timeout(query)
        query.server.sendto(query.text, query.address)
        if time.monotonic() < end:
            while query.number not in self.answered and self.receive(end + 1):
                pass
        if query.number not in self.answered:
            self.late.add(query.number)
            # One that is asked now, and answered, says that dnsproxy has read those before it.
            if len(self.late) % BATCH == 0:
                self.ask([QUERIES + 8 * len(self.late)])

    def answer_due(self, until):
        """Answer what is due by then, each at its time"""
        while self.due and self.due[0][0] <= until:
            due, _, query = heapq.heappop(self.due)
            time.sleep(max(0, due - time.monotonic()))
            self.answer(query)

    def counted(self):
        """What it says it has counted, at the end"""
        time.sleep(2.5)
        while self.receive(0):
            pass
        self.log.seek(0)
        rows = [re.findall(r"\S+", line) for line in self.log][-5:]
        return {name: int(number) for head, row in zip(rows, rows[1:])
                for name, number in zip(head, row) if name.isalpha()}


def main():
    with tempfile.TemporaryDirectory() as folder:
        load = Load(sys.argv[1], folder)
        try:
            for first in range(0, QUERIES, BATCH):
                load.ask(range(first, min(first + BATCH, QUERIES)))
            load.answer_due(float("inf"))
            count = load.counted()
        finally:
            load.process.kill()
    queries = sum(map(len, load.asked.values()))
    wanted = load.asked[AT_ONCE] | load.asked[BEFORE]
    # On a slow machine.
    slow = load.late & wanted
    good = (len(slow) < len(wanted) // 10 and wanted - slow <= load.answered <= wanted and
            count["AllQuery"] == queries and count["RecursQr"] == QUERIES // 2 and
            count["Answered"] == len(load.answered) and
            count["LateAnsw"] == len(load.late - load.answered) and
            count["TimeoutQ"] == queries - len(load.answered) and
            not count["ActiveQr"] and not count["DroppedQ"] and not count["DroppedA"])
    print("ok" if good else "not ok", sys.argv[1].split("/")[-2], "dnsproxy:",
          f"{len(load.answered)} of {len(wanted)} answered, {len(slow)} too late,",
          *(f"{name} {number}" for name, number in count.items()))


main()
