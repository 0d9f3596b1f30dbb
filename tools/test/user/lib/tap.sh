# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What test programs in shell share. said= names the file that a test has written its output to.
n=0

# result STATUS NAME: a line of TAP; behind what was said, if it failed
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		[ ! -e "${said:-}" ] || sed 's/^/# /' "$said"
		echo "not ok $n - $2"
		bad=1
	fi
}

# skip WHY NAME...: these, which are the last
skip() {
	why=$1
	shift
	for name; do
		result 0 "$name # SKIP $why"
	done
	exit "${bad:-0}"
}
