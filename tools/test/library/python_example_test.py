# SPDX-License-Identifier: GPL-2.0-only
"""The example server in Python: its arguments, and that it serves. Argument: its path."""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

COMMAND = [sys.executable, "-W", "error", os.path.abspath(sys.argv[1])]
# A shell that starts tests in the background has them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def run(status, said, *words):
    """Its status, and what it says. It leaves no file."""
    ended = subprocess.run(COMMAND + list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert ended.returncode == status and said in ended.stdout.decode(), (words, ended)
    assert b"Traceback" not in ended.stdout and not os.listdir(), (words, ended)


def connected(name):
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(name)
            return connection
        except OSError:
            connection.close()
            time.sleep(0.01)


def serves(name, *words):
    with subprocess.Popen(COMMAND + list(words)) as server:
        with connected(name) as connection:
            connection.sendall(b"hello")
            assert connection.recv(5) == b"hello"
            server.send_signal(signal.SIGINT)
            assert connection.recv(1) == b""
        assert server.wait() == 0


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run(0, "its timeouts are right", "--test")
    for words in (("--help",), ("-h",), ("--test", "--help")):
        run(0, "PATH", *words)
    for words in ((), ("--what",), ("path", "--test"), ("--test", "path"), ("path", "another")):
        run(2, "usage: idle_server.py", *words)
    run(1, "idle_server.py: /", "/")
    serves("path", "path")
    serves("--help", "--", "--help")
    os.chdir("/")
