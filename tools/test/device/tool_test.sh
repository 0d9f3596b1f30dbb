#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The command twheel. What it makes of wrong words is in native/usage_test.sh.
echo "1..41"
# shellcheck source=lib/tap.sh
. /tap.sh

wants 0 '^Limits:' twheel info && ! grep 'and others' "$said"; result $? info
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
	for ahead in 2 4 8 16 32 64; do
		wants "$status" "$text" timeout $((ahead + 60)) \
			twheel at "$(soon $ahead "$format")" "$@" && return
		[ $ended = 143 ] || grep -q 'has passed' "$said" || break
	done
	return 1
}

wants_soon 0 'after the deadline' +%H:%M:%S; result $? at
wants_soon 5 '"early":false' +@%s --json sh -c 'exit 5'
result $? at_runs_a_command
wants_soon 0 'after the deadline' +%Y-%m-%dT%H:%M:%SZ
result $? at_a_date
wants 2 'has passed' twheel at 1999-12-31T23:59:59; result $? at_is_ahead

wants 0 '^timerfd  *50 ' twheel bench --count 50; result $? bench
wants 0 '{"name":"twheel, batches","count":70,"arm_per_s":[1-9]' \
	twheel bench --count 70 --json; result $? bench_json

# An hour passes by setting the clock.
twheel at "$(soon 3600)" > /tmp/at 2> /dev/null &
waits=$!
becomes ' timers  *1\( \|$\)' twheel show $waits
date -s "$(soon 3600)" > /dev/null
for _ in $(seq 300); do
	! [ -s /tmp/at ] || break
	sleep 0.2
done
cp /tmp/at "$said"
date -s "$(soon -3600)" > /dev/null
grep -q '^1: fired .* after the deadline' /tmp/at && wait $waits
result $? at_follows_the_clock
kill $waits 2> /dev/null

# Another device of that name is no wheel.
mknod /tmp/twheel c 1 3
exec 3< /tmp/twheel
wants 0 '^[0-9]* wheels*, ' twheel top --count 1 --every 10ms &&
	! grep ' twheel ' "$said"
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

# says_all_of FILE: what was said has each key that the kernel has there
says_all_of() {
	sed -n '/^wheel:/,$s/:.*//p' "$1" | sed 's/^owner$/module/' > /tmp/keys
	while read -r key; do
		grep -q "\"$key\":" "$said" || { echo "# no $key"; return 1; }
	done < /tmp/keys
}

wants 0 "\"pid\":$wheel," twheel show --json $wheel &&
	says_all_of "$(grep -l '^wheel:' /proc/$wheel/fdinfo/*)"
result $? show_json
kill $wheel
twheel every 20ms > /dev/null &
wheel=$!
number=$(number_of $wheel)
becomes '^How late timers fired, on average [0-9]' twheel show $wheel &&
	wants 0 '^  below .* #' twheel show --wheel "$number" &&
	wants 1 'there is no wheel 999999' twheel show --wheel 999999
result $? show_lateness
kill $wheel
insmod /modules/twheel_example.ko
wants 0 '^twheel_pending{module="twheel_example",name=".*",wheel="[0-9]*"} ' \
	twheel metrics &&
	wants 0 '^ kernel  *-  *[a-z]' twheel top --count 1 --every 10ms &&
	wants 0 '{"module":"twheel_example","name":"' \
	twheel top --count 1 --every 10ms --json &&
	number=$(grep -l '^owner:.*twheel_example' /sys/kernel/debug/twheel/*) &&
	wants 0 ', softirq$' twheel show --wheel "${number##*/}" &&
	wants 0 '"module":"twheel_example"' twheel show --wheel "${number##*/}" --json &&
	says_all_of "$number"
result $? wheels_of_modules
rmmod twheel_example

wants 0 '^timeout 42: ' after; result $? example_after
wants 0 '^timeout 42: ' user; result $? example_of_the_readme
wants 0 '^timer 1: 1 times, ' example_twheel; result $? example_of_the_device
wants 0 '^timeout 42: ' after_later && wants 0 '^timeout 42: ' user_later &&
	wants 0 '^timer 1: 1 times, ' timeout 300 example_twheel_later
result $? examples_with_a_later_header
wants 0 '^ok 1 ' cell_test_later && wants 0 '^ok 1 ' period_test_later &&
	wants 0 '^ok 1 ' read_test_later && wants 0 '^ok 1 ' read_memory_test_later
result $? tests_with_a_later_header
wants 0 '^20 ms have passed$' example_libtwheel && wants 0 '^timer 2$' example_libtwheel_2
result $? examples_of_the_library
[ "$(example_twheel_loop | tr '\n' ' ')" = "first second first second from another thread " ]
result $? example_of_a_loop

loses_output info && loses_output after 1ms touch /tmp/ran && ! [ -e /tmp/ran ] &&
	loses_output every 1ms && loses_output load --count 10 --max-delay 10ms &&
	loses_output bench --count 10 && loses_output top --every 10ms && loses_output metrics
lost=$?
twheel every 20ms > /dev/null &
wheel=$!
number_of $wheel > /dev/null
[ $lost = 0 ] && loses_output show
result $? lost_output_is_1
kill $wheel
wants 0 'after the deadline' twheel after 1.5ms &&
	wants 0 'after the deadline' twheel after .001 &&
	wants 0 'after the deadline' twheel after 0min1ms500us
result $? durations_may_have_parts
wants 127 '^twheel: no-such-command: ' twheel after 1ms no-such-command &&
	wants_soon 127 '^twheel: /no/such: ' +@%s /no/such &&
	wants 126 '^twheel: /proc: ' twheel after 1ms /proc
result $? command_that_is_not_there_is_127

wants 2 '^twheel: ' twheel load --tick 1ns; result $? refused_tick_is_2
mv /dev/twheel /dev/away
wants 1 '^The module is loaded, but ' twheel after 1ms &&
	wants 0 '^50 of 50 fired, ' twheel load --count 50 --max-delay 10ms &&
	grep -q 'of a process wheel$' "$said"
result $? missing_device_is_explained
mv /dev/away /dev/twheel
wants 0 '^process wheel  *50 ' twheel bench --count 50 && ! grep 'no device' "$said" &&
	wants 0 '^twheel_loaded 1$' twheel metrics &&
	wants 0 '"loaded":true}$' twheel top --count 1 --every 10ms --json
result $? module_is_there

# Without the module, the hint is for where modprobe has it.
installed=/lib/modules/$(uname -r)
mkdir -p "$installed"
echo 'kernel/a.ko: kernel/twheel.ko' > "$installed/modules.dep"
rmmod twheel && wants 1 '^twheel: there is no wheel, as there is no module$' twheel show &&
	grep '^The module is not installed for this kernel$' "$said" &&
	wants 0 '; there is no module' twheel top --count 1 --every 10ms &&
	wants 0 '^twheel_loaded 0$' twheel metrics &&
	echo 'updates/module/twheel.ko.xz:' >> "$installed/modules.dep" &&
	wants 1 '^The module is not loaded. As root: modprobe twheel$' twheel after 1ms &&
	wants 1 '^The module is not loaded. As root: modprobe twheel$' twheel show
result $? missing_module_is_explained
rm "$installed/modules.dep"
insmod /modules/twheel.ko
exit "${bad:-0}"
