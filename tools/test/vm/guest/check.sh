# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make check. Everything that verdict.py judges goes to the second
# serial port, between marks.

out=/dev/results
stty -F $out raw 2>/dev/null
# A program may have ended in the middle of a line.
mark() { printf '\n@%s\n' "$*" > $out; }

# Not nproc: a CPU may be isolated.
mark begin "$(uname -r)" "$(grep -c ^processor /proc/cpuinfo)"
# The names of programs to run. Suites are run if their module is there.
only=$(cat /only)
wanted() {
	for word in $only; do
		[ "$word" != "$1" ] || return 0
	done
	return 1
}

# Seconds since boot.
uptime() { cut -d . -f 1 /proc/uptime; }

run() {
	mark run "$@"
	"$@" > /tmp/run.out 2>&1
	status=$?
	cat /tmp/run.out > $out
	mark status $status
}

# Leaks are looked for at the end, and not beside the tests.
leaks=/sys/kernel/debug/kmemleak
[ ! -w $leaks ] || echo scan=off > $leaks
# Inject faults into allocations that may sleep as well.
for knob in /sys/kernel/debug/fail*/ignore-gfp-wait; do
	[ ! -w "$knob" ] || echo N > "$knob"
done
# And into no pages: how often an object needs a new slab does not depend on the test.
knob=/sys/kernel/debug/fail_page_alloc/min-order
[ ! -w $knob ] || echo 20 > $knob
for knob in /sys/kernel/debug/fail*/verbose; do
	[ ! -w "$knob" ] || echo 0 > "$knob"
done
run insmod /modules/twheel.ko
for module in /modules/twheel_kunit*.ko; do
	[ -e "$module" ] || continue
	name=$(basename "$module" .ko)
	run insmod "$module"
	for suite in /sys/kernel/debug/kunit/*; do
		mark suite "${suite##*/}"
		cat "$suite/results" > $out
		mark end
	done
	run rmmod "$name"
done

# others 0 or 1: take the other CPUs offline, and online again, for programs that turn
# tracepoints on and off. That patches code, and an emulated CPU may run into a breakpoint
# that another has already removed: 6.12 panicked so.
others() {
	case $name in
	bpftrace_test | tool_guard_test | tool_trace_test | trace_test) ;;
	*) return ;;
	esac
	for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do
		echo "$1" 2> /dev/null > "$cpu"
	done
}

for program in /tests/*; do
	[ -e "$program" ] || continue
	name=${program##*/}
	wanted "$name" || continue
	mark program "$name"
	others 0
	began=$(uptime)
	# Each line at once: the host sees by it that the program makes progress.
	{ "$program" 2>&1; echo $? > /tmp/status; } | cat > $out
	took=$(($(uptime) - began))
	others 1
	mark end $took "$(cat /tmp/status)"
done

for module in example flows heartbeat port readme; do
	wanted example || wanted example:$module || continue
	# Where the kernel has what it is ported from.
	[ -e /modules/twheel_$module.ko ] || continue
	run insmod /modules/twheel_$module.ko
	run rmmod twheel_$module
done
run rmmod twheel

if [ -w $leaks ]; then
	# What one scan alone finds may be on its way to its place: scan twice.
	echo scan > $leaks
	sleep 6
	echo scan > $leaks
	mark leaks
	cat $leaks > $out
	mark end
fi
mark complete
