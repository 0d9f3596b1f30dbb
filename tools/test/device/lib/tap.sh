# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What test programs in shell share.
n=0
# What a test has written.
said=/tmp/said

# result STATUS NAME: a line of TAP; behind what was said, if it failed
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		[ ! -e "$said" ] || sed 's/^/# /' "$said"
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

# wants STATUS TEXT COMMAND...: the command ends with that status, and prints that text
wants() {
	prints "$said" "$@"
}

# prints FILE STATUS TEXT COMMAND...: the same; what it prints is in a file
prints() {
	file=$1 status=$2 text=$3
	shift 3
	"$@" > "$file" 2>&1 < /dev/null
	ended=$?
	[ $ended = "$status" ] && grep -q "$text" "$file"
}

# becomes TEXT COMMAND...: the command succeeds, and prints that text some time
becomes() {
	for _ in $(seq 300); do
		! wants 0 "$@" || return 0
		sleep 0.2
	done
	return 1
}

# number_of PID: the number of its wheel, once it has one
number_of() {
	for _ in $(seq 300); do
		sed -n 's/^wheel:[^0-9]*//p' /proc/"$1"/fdinfo/* | grep -m 1 . &&
			return
		sleep 0.1
	done
}

# loses_output ARGUMENT...: if the output cannot be written, the command fails with status 1
# and a message
loses_output() {
	twheel "$@" 2> "$said" > /dev/full < /dev/null
	status=$?
	[ $status = 1 ] && grep -q '^twheel: standard output: ' "$said" && return
	echo "# twheel $*: status $status"
	return 1
}
