# SPDX-License-Identifier: GPL-2.0-only
# Nothing is left to do: no timer has flags, a static initialiser, or is asked for its time.
