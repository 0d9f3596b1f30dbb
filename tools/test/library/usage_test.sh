#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What the command twheel makes of wrong words, without a module. Arguments: a folder for what
# it writes, and the file of the completion for bash.
folder=$1
export completion="$2"
echo "1..10"
# shellcheck source=../device/lib/tap.sh
. "$(dirname "$0")/../device/lib/tap.sh"
said=$folder/said

wrong=0
for time in 24:00 12:60 1:3 12:30:61 12 2026-13-01 2027-02-29 \
	2026-01-01T 2026-01-01T12 '2026-01-01 12:00+25:00' 12:00x @ @x -1; do
	# The status after a break is that of break.
	wants 2 . twheel at "$time" || { wrong=1; break; }
done
result $wrong at_knows_a_time
wrong=0
for command in 'twheel' 'twheel nothing' 'twheel after' 'twheel after 1x' \
	'twheel after 999999999999d' 'twheel every 1ms --count 0' \
	'twheel load --count 0' 'twheel load --count x' 'twheel load extra' \
	'twheel after --clock sun 1s' 'twheel info --what' \
	'twheel load --min-delay 2s --max-delay 1s' 'twheel at' \
	'twheel bench --count 0' 'twheel top extra' 'twheel top --every 1us' \
	'twheel show x' 'twheel show 1 2' 'twheel every 0s' \
	'twheel show --wheel 1 2' 'twheel trace extra' 'twheel metrics extra' \
	'twheel trace --count 0' 'twheel trace --pid 1 --wheel 1' \
	'twheel load --clock virtual' \
	'twheel load --cells --clock realtime' 'twheel load --cells --clock tai' \
	'twheel load --cells --process' 'twheel load --process --tick 1ns'; do
	# shellcheck disable=SC2086
	wants 2 . $command || { wrong=1; break; }
done
result $wrong wrong_usage_is_2
wrong=0
for duration in 1.5.5s 1..5 1.5.5 18446744073.8 5124095.6h 2h30 30m2 . s '' ' 1s' '1s ' 1e3 +1s 1x; do
	wants 2 'is not a duration such as' twheel after "$duration" ||
		{ wrong=1; break; }
done
result $wrong wrong_durations_are_2
loses_output --help && loses_output --version && loses_output after --help
result $? lost_help_is_1

# says_who COMMAND...: the command fails, and its message begins with the program's name
says_who() {
	"$@" 2> "$said" > /dev/null < /dev/null || {
		head -n 1 "$said" | grep -q '^twheel: ' && return
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
ln -s "$(command -v twheel)" "$folder/another-name"
says_who "$folder/another-name" after --what
says_who "$folder/another-name" show 1
result $wrong messages_begin_with_twheel

# completes WORD...: print what bash offers for the last word
completes() {
	bash -c '. $completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		_twheel; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
completes twheel load --json --count 3 -- > "$said" 2>&1
grep -qx -e --seed "$said" && ! grep -qx -e --json "$said" &&
	! grep -qx -e --count "$said" &&
	completes twheel after 1s '' > "$said" 2>&1 &&
	grep -qx twheel "$said" &&
	[ -z "$(sort "$said" | uniq -d)" ]
result $? completion_does_not_repeat_itself

wrong=0
for clock in monotonic boottime realtime tai; do
	wants 0 '^2000 of 2000 fired, 0 early, 0 twice, 0 never; ' \
		twheel load --process --clock $clock --count 2000 --max-delay 300ms ||
		{ wrong=1; break; }
done
wants 0 '"tick_ns":100000,' \
	twheel load --process --tick 100us --count 10 --max-delay 1ms --json || wrong=1
wants 130 '^0 of 10 fired, ' timeout --preserve-status -s INT 1 \
	twheel load --process --count 10 --min-delay 1h --max-delay 1h || wrong=1
result $wrong load_of_a_process_wheel
wants 0 '^process wheel  *50  *[1-9][0-9]*  *[1-9][0-9]*  *[1-9][0-9]*  *[1-9]' \
	twheel bench --count 50 && grep -q '^timerfd  *50 ' "$said"
result $? bench_of_a_process_wheel

# Where the module is loaded, tool_test shows the same.
why=
! grep -qw twheel /proc/misc || why=' # SKIP the module is loaded here'
wrong=0
# Nobody has installed it for this kernel, so that modprobe is no help.
unknown() {
	! grep -q modprobe "$said" && grep -q '^The module is not ' "$said" || wrong=1
}
if [ ! "$why" ] && ! grep -q '/twheel\.ko' "/lib/modules/$(uname -r)/modules.dep" 2> /dev/null; then
	wants 1 '^twheel: there is no wheel, as there is no module$' twheel show || wrong=1
	unknown
	wants 1 '^twheel: there is no wheel, as there is no module$' twheel show $$ || wrong=1
	wants 0 '; there is no module' twheel top --count 1 --every 10ms || wrong=1
	wants 0 '"loaded":false}$' twheel top --count 1 --every 10ms --json || wrong=1
	wants 0 '^twheel_loaded 0$' twheel metrics || wrong=1
	wants 1 '^twheel: /dev/twheel: ' twheel after 1ms
	unknown
fi
result $wrong "no_module_is_named$why"
wrong=0
if [ ! "$why" ]; then
	wants 0 '^10 of 10 fired, ' twheel load --count 10 --max-delay 1ms &&
		grep -q ': the timeouts are those of a process wheel$' "$said" || wrong=1
	wants 1 '^twheel: /dev/twheel: ' twheel load --cells --count 10 || wrong=1
	wants 0 '^twheel: .* only the process wheel was measured$' twheel bench --count 50 ||
		wrong=1
fi
result $wrong "without_a_module_a_process_wheel_does$why"
exit "${bad:-0}"
