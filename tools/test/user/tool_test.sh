#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The command twheel.
echo "1..45"
# shellcheck source=lib/tap.sh
. /tap.sh
said=/tmp/tool.out

# wants STATUS TEXT COMMAND...: the command ends with that status, and prints that text
wants() {
	status=$1 text=$2
	shift 2
	"$@" > /tmp/tool.out 2>&1 < /dev/null
	ended=$?
	[ $ended = "$status" ] && grep -q "$text" /tmp/tool.out
}

# becomes TEXT COMMAND...: the command succeeds, and prints that text some time
becomes() {
	for _ in $(seq 60); do
		! wants 0 "$@" || return 0
		sleep 1
	done
	return 1
}

wants 0 '^Limits:' twheel info && ! grep 'and others' /tmp/tool.out; result $? info
wants 0 '"tick_ns":1000000,' twheel info --json; result $? info_json
wants 0 'after the deadline' twheel after 50ms; result $? after
wants 7 'after the deadline' twheel after 1ms sh -c 'exit 7'
result $? after_runs_a_command
wrong=0
for clock in monotonic boottime realtime tai; do
	wants 0 '"deadline_ns":[1-9].*"count":1,"early":false' \
		twheel after --clock $clock 1ms --json || { wrong=1; break; }
done
result $wrong after_on_each_clock
wants 0 '^3: fired' twheel every 20ms --count 3; result $? every
wants 0 ' missed$' twheel every 1us --count 2; result $? every_counts_what_it_misses
wants 0 '2000 of 2000 fired, 0 early, 0 twice, 0 never' \
	twheel load --count 2000 --max-delay 300ms; result $? load
wants 0 '"count":500,"armed":500,"fired":500,"early":0,"twice":0,"never":0' \
	twheel load --count 500 --max-delay 1s --tick 100us --clock boottime --json
result $? load_json
wants 0 '^300 of 300 fired, 0 early, 0 twice, 0 never;' \
	twheel load --count 300 --max-delay 300ms --clock realtime; result $? load_realtime
if twheel info | grep -q '^Features:.* cells'; then
	wants 0 '^2000 of 2000 fired, 0 early, 0 twice, 0 never;' \
		twheel load --cells --count 2000 --max-delay 300ms
else
	wants 2 'such a wheel is refused' twheel load --cells --count 2000
fi
result $? load_cells

# A signal that is ignored stays so, also for COMMAND.
wrong=0
(trap '' INT; wants 0 lives timeout -s INT 1 twheel after 2s \
	sh -c 'kill -INT $$; echo lives') || wrong=1
timeout -s INT 1 twheel after 1h
[ $? = 130 ] || wrong=1
wants 130 '^0 of 10 fired, ' timeout -s INT 5 \
	twheel load --count 10 --min-delay 1h --max-delay 1h || wrong=1
result $wrong interrupts

# soon SECONDS [FORMAT]: the time in so many seconds
soon() {
	date -d "@$(($(date +%s) + $1))" "${2:-+@%s}"
}

# wants_soon STATUS TEXT FORMAT ARGUMENT...: as wants, for twheel at a time some seconds
# ahead. If that time passes before the command begins, which is an error or means tomorrow,
# a later one is tried.
wants_soon() {
	status=$1 text=$2 format=$3
	shift 3
	for ahead in 3 6 12 24 48; do
		wants "$status" "$text" timeout $((ahead + 60)) \
			twheel at "$(soon $ahead "$format")" "$@" && return
		[ $ended = 143 ] || grep -q 'has passed' /tmp/tool.out || break
	done
	return 1
}

wants_soon 0 'after the deadline' +%H:%M:%S; result $? at
wants_soon 5 '"early":false' +@%s --json sh -c 'exit 5'
result $? at_runs_a_command
wants_soon 0 'after the deadline' +%Y-%m-%dT%H:%M:%SZ
result $? at_a_date
wants 2 'has passed' twheel at 1999-12-31T23:59:59; result $? at_is_ahead
wrong=0
for time in 24:00 12:60 1:3 12:30:61 12 2026-13-01 2027-02-29 \
	2026-01-01T 2026-01-01T12 '2026-01-01 12:00+25:00' 12:00x @ @x -1; do
	# The status after a break is that of break.
	wants 2 . twheel at "$time" || { wrong=1; break; }
done
result $wrong at_knows_a_time

wants 0 '^timerfd  *50 ' twheel bench --count 50; result $? bench
wants 0 '{"name":"twheel, batches","count":70,"arm_per_s":[1-9]' \
	twheel bench --count 70 --json; result $? bench_json

# number_of PID: the number of its wheel, once it has one
number_of() {
	for _ in $(seq 60); do
		sed -n 's/^wheel:[^0-9]*//p' /proc/"$1"/fdinfo/* | grep -m 1 . &&
			return
		sleep 0.5
	done
}

# An hour passes by setting the clock.
twheel at "$(soon 3600)" > /tmp/at 2> /dev/null &
waits=$!
becomes ' timers  *1\( \|$\)' twheel show $waits
date -s "$(soon 3600)" > /dev/null
for _ in $(seq 60); do
	! [ -s /tmp/at ] || break
	sleep 1
done
cp /tmp/at /tmp/tool.out
date -s "$(soon -3600)" > /dev/null
grep -q '^1: fired .* after the deadline' /tmp/at && wait $waits
result $? at_follows_the_clock
kill $waits 2> /dev/null

# Another device of that name is no wheel.
mknod /tmp/twheel c 1 3
exec 3< /tmp/twheel
wants 0 '^[0-9]* wheels*, ' twheel top --count 1 --every 10ms &&
	! grep ' twheel ' /tmp/tool.out
result $? top_of_none
exec 3<&-
wants 1 'process 1 has no wheel open' twheel show 1; result $? show_of_none
twheel every 20ms > /dev/null &
wheel=$!
number_of $wheel > /dev/null
becomes "^ *$wheel .* twheel  *1.00 ms  *1  *0 " \
	twheel top --count 2 --every 500ms; result $? top
becomes "{\"pid\":$wheel,.*\"timers\":1,.*\"late_max_ns\":[1-9]" \
	twheel top --count 1 --every 10ms --json; result $? top_json
kill $wheel
twheel every 1h > /dev/null &
wheel=$!
becomes ' timers  *1\( \|$\)' twheel show $wheel &&
	wants 0 'buckets in use' twheel show $wheel &&
	wants 0 ' 1 of 512$' twheel show $wheel &&
	wants 0 "^twheel ($wheel), descriptor " twheel show
result $? show
# Nothing that the kernel says of the file is missing.
wants 0 "\"pid\":$wheel," twheel show --json $wheel
wrong=$?
sed -n '/^wheel:/,$s/:.*//p' /proc/$wheel/fdinfo/* > /tmp/keys
while read -r key; do
	grep -q "\"$key\":" /tmp/tool.out || { echo "# no $key"; wrong=1; }
done < /tmp/keys
result $wrong show_json
kill $wheel

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
	! grep -qv ' arm ' /tmp/tool.out
result $? trace_of_some_events
kill $others
twheel trace --for 300ms --wheel 999999 > /tmp/tool.out 2>&1 &&
	! [ -s /tmp/tool.out ] && no_instance
result $? trace_ends_in_time
# once_traced SIGNAL: send that to process /tmp/trace, when it has traced something
once_traced() {
	for _ in $(seq 30); do
		! grep -q expire_entry /tmp/tool.out || break
		sleep 2
	done
	kill -"$1" "$(cat /tmp/trace)"
}
wrong=0
for signal in INT TERM HUP; do
	# Now: the next trace may empty it after the first look.
	: > /tmp/tool.out
	once_traced $signal &
	# In front: what is in the background ignores SIGINT.
	sh -c 'echo $$ > /tmp/trace; exec twheel trace' > /tmp/tool.out 2>&1
	status=$?
	if ! grep -q expire_entry /tmp/tool.out || [ $status != 0 ] ||
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
patience 10 0
wants 0 '^How late timers fired, on average [0-9]' twheel show $wheel &&
	wants 0 '^  below .* #' twheel show --wheel "$number" &&
	wants 1 'there is no wheel 999999' twheel show --wheel 999999
result $? show_lateness
kill $wheel
insmod /modules/twheel_example.ko
wants 0 '^twheel_pending{module="twheel_example",name=".*",wheel="[0-9]*"} ' \
	twheel metrics &&
	wants 0 '^ kernel  *-  *[a-z]' twheel top --count 1 --every 10ms &&
	wants 0 '{"module":"twheel_example","name":"' \
	twheel top --count 1 --every 10ms --json
result $? wheels_of_modules
rmmod twheel_example

wants 0 '^timeout 42: ' after; result $? example_after
wants 0 '^timeout 42: ' user; result $? example_of_the_readme
wants 0 '^timer 1: 1 times, ' example_twheel; result $? example_of_the_device
wants 0 '^20 ms have passed$' example_libtwheel && wants 0 '^timer 2$' example_libtwheel_2
result $? examples_of_the_library

wrong=0
for command in 'twheel' 'twheel nothing' 'twheel after' 'twheel after 1x' \
	'twheel after 999999999999d' 'twheel every 1ms --count 0' \
	'twheel load --count 0' 'twheel load --count x' 'twheel load extra' \
	'twheel after --clock sun 1s' 'twheel info --what' \
	'twheel load --min-delay 2s --max-delay 1s' 'twheel at' \
	'twheel bench --count 0' 'twheel top extra' 'twheel top --every 1us' \
	'twheel show x' 'twheel show 1 2' 'twheel every 0s' \
	'twheel show --wheel 1 2' 'twheel trace extra' 'twheel metrics extra' \
	'twheel trace --events nothing' 'twheel trace --events ../enable' \
	'twheel trace --count 0' 'twheel trace --pid 1 --wheel 1' \
	'twheel load --tick 1ns' 'twheel load --clock virtual' \
	'twheel trace --events ,' 'twheel trace --events=' \
	'twheel load --cells --clock realtime' 'twheel load --cells --clock tai'; do
	# shellcheck disable=SC2086
	wants 2 . $command || { wrong=1; break; }
done
result $wrong wrong_usage_is_2

# loses_output ARGUMENT...: if the output cannot be written, the command fails with status 1
# and a message
loses_output() {
	twheel "$@" 2> /tmp/tool.out > /dev/full < /dev/null
	status=$?
	[ $status = 1 ] && grep -q '^twheel: standard output: ' /tmp/tool.out &&
		return
	echo "# twheel $*: status $status"
	wrong=1
}
wrong=0
loses_output --help
loses_output --version
loses_output after --help
loses_output info
loses_output after 1ms touch /tmp/ran
loses_output every 1ms
loses_output load --count 10 --max-delay 10ms
loses_output bench --count 10
loses_output top --every 10ms
loses_output metrics
twheel every 20ms > /dev/null &
wheel=$!
number_of $wheel > /dev/null
loses_output show
loses_output trace --pid $wheel
no_instance || wrong=1
kill $wheel
[ ! -e /tmp/ran ] || wrong=1
result $wrong lost_output_is_1
wrong=0
for duration in 1.5.5s 1..5 1.5.5 18446744073.8 5124095.6h 2h30 30m2 . s '' ' 1s' '1s ' 1e3 +1s 1x; do
	wants 2 'is not a duration such as' twheel after "$duration" ||
		{ wrong=1; break; }
done
result $wrong wrong_durations_are_2
wants 0 'after the deadline' twheel after 1.5ms &&
	wants 0 'after the deadline' twheel after .001 &&
	wants 0 'after the deadline' twheel after 0min1ms500us
result $? durations_may_have_parts
wants 127 '^twheel: no-such-command: ' twheel after 1ms no-such-command &&
	wants_soon 127 '^twheel: /no/such: ' +@%s /no/such &&
	wants 126 '^twheel: /proc: ' twheel after 1ms /proc
result $? command_that_is_not_there_is_127

# says_who COMMAND...: the command fails, and its message begins with the program's name
says_who() {
	"$@" 2> /tmp/tool.out > /dev/null < /dev/null || {
		head -n 1 /tmp/tool.out | grep -q '^twheel: ' && return
	}
	echo "# $*"
	wrong=1
}
wrong=0
says_who twheel nothing
says_who twheel after --what
says_who twheel after --clock
says_who twheel after -x 1s
says_who twheel info --json=1
says_who twheel load --m 1s
says_who twheel top -n
says_who twheel show 1
says_who twheel show --wheel 999999
says_who twheel trace --pid 1
says_who twheel load --tick 1ns
ln -s "$(command -v twheel)" /tmp/another-name
says_who /tmp/another-name after --what
says_who /tmp/another-name show 1
result $wrong messages_begin_with_twheel

# completes WORD...: print what bash offers for the last word
completes() {
	bash -c '. /completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		_twheel; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
if ! command -v bash > /dev/null; then
	result 0 "completion_does_not_repeat_itself # SKIP there is no bash"
else
	completes twheel load --json --count 3 -- > /tmp/tool.out 2>&1
	grep -qx -e --seed /tmp/tool.out && ! grep -qx -e --json /tmp/tool.out &&
		! grep -qx -e --count /tmp/tool.out &&
		completes twheel after 1s '' > /tmp/tool.out 2>&1 &&
		grep -qx twheel /tmp/tool.out &&
		[ -z "$(sort /tmp/tool.out | uniq -d)" ]
	result $? completion_does_not_repeat_itself
fi
rm -f /tmp/away; mv /dev/twheel /dev/away
wants 1 'modprobe twheel' twheel after 1ms; result $? missing_device_is_explained
mv /dev/away /dev/twheel
exit "${bad:-0}"
