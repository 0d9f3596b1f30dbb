# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make torture. Each line of /plan is a scenario. It says how many
# seconds it may take, after how many operations it may end (0: none), and what happens
# meanwhile. What is to be judged goes to the second serial port, between marks.

out=/dev/results
stty -F $out raw 2>/dev/null
say() { echo "$*" > $out; }
parameters=/sys/module/twheel_torture/parameters
# The first failure, in few words; empty if there is none.
cause=
fail() { [ -n "$cause" ] || cause=$*; }
# Seconds since boot, including time asleep.
uptime() { cut -d . -f 1 /proc/uptime; }

# nap MS: for something up to that
nap() { usleep $(($(od -An -N2 -tu2 /dev/urandom) % $1 * 1000 + 1000)); }
is_calm() { [ -e /tmp/calm ]; }

# Disturbances. Each goes on until /tmp/calm exists.
hotplug() {
	while ! is_calm; do
		for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do
			echo 0 > "$cpu" && echo >> /tmp/unplugged
			nap 300
			echo 1 > "$cpu"
			nap 300
		done
	done
	all_back
}

# One is away until a timer that is lost has been found.
absence() {
	cpu=/sys/devices/system/cpu/cpu1/online
	while ! is_calm; do
		echo 0 > $cpu && echo >> /tmp/unplugged
		until=$(progress 4)
		while [ "$(progress 3)" -lt "$until" ] && ! is_calm; do sleep 1; done
		echo 1 > $cpu
		nap 1000
	done
	all_back
}

# progress N: the Nth of its figures
progress() { cut -d ' ' -f "$1" $parameters/progress; }

all_back() {
	# It is not let in while the guest falls asleep, which takes seconds.
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		grep -q 0 /sys/devices/system/cpu/cpu[1-9]*/online || return 0
		sleep 1
		for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do
			echo 1 > "$cpu"
		done
	done
	echo "a CPU does not come back" > /tmp/wrong
}

# The RTC wakes up a machine that is suspended to memory.
sleep_deep() {
	alarm=/sys/class/rtc/rtc0/wakealarm
	while ! is_calm; do
		nap 2000
		echo 0 > $alarm
		# Devices take a second or two to fall asleep, and several on a busy machine. An
		# alarm that has gone off by then wakes nobody up, ever.
		echo +12 > $alarm
		echo mem > /sys/power/state && echo >> /tmp/slept
	done
	echo 0 > $alarm
}

# To idle; QEMU's RTC does not wake that up: the module does.
sleep_idle() {
	while ! is_calm; do
		nap 2000
		echo freeze > /sys/power/state && echo >> /tmp/slept
	done
}

# guard: a scenario that makes no progress for eight minutes hangs, and that is a verdict.
# The host would end the guest a little later, but cannot ask it for its tasks.
guard() {
	progressed
	(
		while [ $(($(uptime) - $(cat /tmp/progressed))) -lt 480 ]; do
			sleep 5
		done
		say "hang: no progress for 480 s"
		echo w > /proc/sysrq-trigger
		sleep 3
		say "@not $name the guest hangs"
		sleep 1
		reboot -f
	) &
	guard=$!
}

progressed() { uptime > /tmp/progressed; }

unguard() { kill $guard 2>/dev/null; }

# begin_torture OPTION...: load both modules
begin_torture() {
	if ! lsmod | grep -q '^twheel '; then
		insmod /modules/twheel.ko || { fail "twheel does not load"; return 1; }
	fi
	insmod /modules/twheel_torture.ko "$@" ||
		{ fail "twheel_torture does not load"; return 1; }
}

# end_torture: the module goes, and says what its books came to
end_torture() {
	rmmod twheel_torture || fail "twheel_torture cannot be unloaded"
	report=$(dmesg | sed -n 's/^.*twheel_torture: //p' | tail -n 2)
	say "$report"
	case $report in
	*"verdict: ok"*) ;;
	*) fail "$(echo "$report" | sed -n 's/^verdict: //p')" ;;
	esac
}

# until_end SECONDS OPERATIONS: wait for the end, a failure, or a standstill
until_end() {
	end=$(($(uptime) + $1)) before=0 idle=0
	while [ "$(uptime)" -lt "$end" ]; do
		sleep 1
		read -r operations wrong _ < $parameters/progress
		[ "$wrong" = 0 ] || return
		[ "$2" = 0 ] || [ "$operations" -lt "$2" ] || return
		idle=$((idle + 1))
		if [ "$operations" != "$before" ]; then
			idle=0
			progressed
		fi
		before=$operations
		# The host sees by it that there is progress.
		[ $(($(uptime) % 30)) != 0 ] || say "# $operations operations"
		[ $idle -lt 480 ] || { fail "nothing is done any more"; return; }
	done
	[ "$2" = 0 ] || fail "only $operations operations in $1 s: give it more TIME"
}

# fuzz_device SECONDS: with no clocks that can be set, as the model of the fuzzer reads them
fuzz_device() {
	[ ! -e /bin/fuzz_test ] || STEADY=1 TIME=$1 fuzz_test
}

# device SECONDS: use it. The races come after the fuzzer, which looks at all timers of root.
device() {
	over=$(($(uptime) + $1))
	fuzz_device $((($1 + 1) / 2)) || return
	while [ "$(uptime)" -lt "$over" ]; do
		stress_test || return
	done
}

# device_judge PID: it has ended
device_judge() {
	wait "$1" || fail "the device: $(grep -B 1 -E '^# again|^not ok' /tmp/device | head -n 1)"
	sed -n 's/^# fuzz/device/p' /tmp/device | tail -n 1 > $out
	[ -z "$cause" ] || sed 's/^/| /' /tmp/device > $out
}

# Users come and go, and so do both modules.
reload() {
	end=$(($(uptime) + seconds)) rounds=0
	while [ "$(uptime)" -lt "$end" ] && [ -z "$cause" ]; do
		begin_torture || return
		fuzz_device 3 > /tmp/device 2>&1 &
		user=$!
		nap 1500
		rmmod twheel 2>/dev/null && fail "twheel goes while it is used"
		end_torture
		# The user may have come to its end meanwhile.
		exec 3<> /dev/twheel
		rmmod twheel 2>/dev/null && fail "twheel goes while it is open"
		exec 3>&-
		device_judge $user
		rounds=$((rounds + 1))
		progressed
		rmmod twheel || fail "twheel cannot be unloaded"
	done
	say "modules loaded and unloaded: $rounds times"
}

# endure DISTURBANCE...: torture, and the device if that is named, until the time is over
endure() {
	options=
	# The module sets the clock itself, for it has to know when.
	case " $* " in *" steps "*) options="steps=1" ;; esac
	case " $* " in *" sleep_idle "*) options="$options wake_ms=4000" ;; esac
	# shellcheck disable=SC2086
	begin_torture $options || return
	user=
	case " $* " in *" device "*)
		device "$seconds" > /tmp/device 2>&1 &
		user=$!
		;;
	esac
	others=
	for what; do
		case $what in steps | device | calm) continue ;; esac
		$what 2>> /tmp/disturbances &
		others="$others $!"
	done
	until_end "$seconds" "$operations_wanted"
	touch /tmp/calm
	progressed
	# shellcheck disable=SC2086
	[ -z "$others" ] || wait $others
	[ -e /tmp/wrong ] && fail "$(cat /tmp/wrong)"
	[ -z "$user" ] || device_judge "$user"
	end_torture
	rmmod twheel || fail "twheel cannot be unloaded"
	case " $* " in *" hotplug "* | *" absence "*)
		say "CPUs unplugged: $(wc -l < /tmp/unplugged 2>/dev/null) times"
		[ -s /tmp/unplugged ] || fail "no CPU could be unplugged"
		;;
	esac
	# Else the scenario says nothing about suspended time.
	case " $* $report" in *" sleep_deep "*"asleep: "?" ms"*)
		fail "CLOCK_BOOTTIME did not go on while the guest was suspended" ;;
	esac
	case " $* " in *" sleep_"*)
		say "suspended: $(wc -l < /tmp/slept 2>/dev/null) times"
		[ -s /tmp/slept ] || fail "the guest could not be suspended"
		;;
	esac
}

say "@begin $(uname -r) $(nproc)"
mem=$(cat /sys/power/mem_sleep 2>/dev/null)
while read -r name seconds operations_wanted what; do
	cause=
	rm -f /tmp/calm /tmp/wrong /tmp/unplugged /tmp/slept /tmp/disturbances
	case "$what/$mem" in
	*sleep_deep*/*deep*) ;;
	*hotplug*sleep_deep* | *sleep_deep*hotplug*)
		# The rest at once is worth its time.
		what=$(echo "$what" | sed 's/sleep_deep//')
		say "without suspend to memory, which this guest has not: $name"
		;;
	*sleep_deep*)
		say "@skip $name this guest has no suspend to memory: ${mem:-none}"
		continue
		;;
	*sleep_idle*)
		grep -qw freeze /sys/power/state 2> /dev/null || {
			say "@skip $name this guest cannot sleep"
			continue
		} ;;
	esac
	say "@scenario $name"
	guard
	if [ "$what" = reload ]; then
		reload
	else
		# shellcheck disable=SC2086
		endure $what
	fi
	unguard
	dmesg -c | sed -n '/twheel_torture: \(wheels\|verdict\): /d; s/^.*twheel_torture: /told: /p' > $out
	if [ -n "$cause" ]; then
		say "@not $name $cause"
	else
		say "@ok $name"
	fi
done < /plan
say "@complete"
