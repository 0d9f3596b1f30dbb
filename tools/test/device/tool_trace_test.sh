#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The command twheel trace.
echo "1..7"
# shellcheck source=lib/tap.sh
. /tap.sh

# Tracing makes an instance of its own, and removes it at the end.
instances=/sys/kernel/debug/tracing/instances
# The kernel takes long to make the files of an instance, under emulation and beside other
# work: keep its watchdogs quiet.
patience() {
	echo "$1" > /proc/sys/kernel/watchdog_thresh
	echo "$2" > /sys/module/rcupdate/parameters/rcu_cpu_stall_suppress
} 2> /dev/null
patience 60 1
no_instance() {
	[ -z "$(find $instances -mindepth 1 -maxdepth 1)" ]
}
twheel every 20ms > /dev/null &
wheel=$!
number=$(number_of $wheel)
wants 0 "cpu[0-9]* *expire_entry *wheel $number name /dev/twheel timer .* late [0-9]" \
	twheel trace --count 10 --pid $wheel && no_instance
result $? trace
while :; do twheel after 1ms; done > /dev/null 2>&1 &
others=$!
wants 0 ' arm  *wheel ' twheel trace --count 5 --events arm &&
	! grep -qv ' arm ' "$said"
result $? trace_of_some_events
kill $others
twheel trace --for 300ms --wheel 999999 > "$said" 2>&1 &&
	! [ -s "$said" ] && no_instance
result $? trace_ends_in_time
# once_traced SIGNAL: send that to process /tmp/trace, when it has traced something
once_traced() {
	for _ in $(seq 120); do
		! grep -q expire_entry "$said" || break
		sleep 0.5
	done
	kill -"$1" "$(cat /tmp/trace)"
}
wrong=0
for signal in INT TERM HUP; do
	# Now: the next trace may empty it after the first look.
	: > "$said"
	once_traced $signal &
	# In front: what is in the background ignores SIGINT.
	sh -c 'echo $$ > /tmp/trace; exec twheel trace' > "$said" 2>&1
	status=$?
	if ! grep -q expire_entry "$said" || [ $status != 0 ] ||
			! no_instance; then
		echo "# $signal: status $status, left: $(ls $instances)"
		wrong=1
		break
	fi
done
result $wrong trace_cleans_up
# An instance that somebody reads stays as it is: its process may be in another PID namespace.
mkdir $instances/twheel-999998 $instances/twheel-999999
echo 1 > $instances/twheel-999998/events/twheel/enable
echo 1 > $instances/twheel-999999/events/twheel/enable
exec 3< $instances/twheel-999998/trace_pipe
wants 0 '^[0-9]' twheel trace --count 1 &&
	[ "$(cat $instances/twheel-999998/events/twheel/enable)" = 1 ]
wrong=$?
exec 3<&-
rmdir $instances/twheel-999998 && no_instance || wrong=1
result $wrong trace_removes_what_was_left
loses_output trace --pid $wheel && no_instance
result $? trace_that_loses_output
wrong=0
for events in nothing ../enable ',' ''; do
	wants 2 . twheel trace --events "$events" || { wrong=1; break; }
done
result $wrong events_have_names
kill $wheel
patience 10 0
exit "${bad:-0}"
