#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module twheel for Python, with its parts of Python in /lib.
PYTHONHOME=/ exec python3 -S /python/python_test.py
