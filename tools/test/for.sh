#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# for.sh [--run] FILE...: print the commands that a change of these files or folders needs. They
# are about in the order of how long they take. Each change needs make style as well. Behind a "#"
# is when a command is needed. --run runs those that always are, until one fails.
set -euo pipefail

# Lines of patterns, in which "*" stands for folders, too. Behind each are, with a tab, what such
# files need: commands, or suites and programs of make check. All that match count.
table() {
	cat << 'END'
module/engine/*
	make engine
	make library
	make simulation
	make proofs
	make check
module/core/base.* module/core/pass.*
	make simulation
	make interleave
	twheel_core twheel_pass twheel_context twheel_wait twheel_race twheel_smp twheel_system
	twheel_clock_set twheel_clock_set_meanwhile twheel_home twheel_hotplug
	make models # if an order between CPUs changes
	tools/test/vm/row.sh kcsan-6.12 twheel_race
	tools/test/vm/row.sh rtdebug-6.12 twheel_wait
	make torture SCENARIOS=hotplug
module/core/timer.* include/linux/twheel.h include/linux/twheel_node.h include/linux/twheel_init.h
include/linux/twheel_state.h
	make library
	make simulation
	make interleave
	twheel_api twheel_contract twheel_callback twheel_life twheel_race twheel_smp twheel_wait
	twheel_percpu twheel_travel twheel_home twheel_hotplug
	tools/test/vm/row.sh kcsan-6.12 twheel_race
module/core/many.* include/linux/twheel_many.h
	make simulation
	twheel_many twheel_life twheel_race twheel_limit
module/core/policy.* module/engine/policy.h include/linux/twheel_policy.h
include/linux/twheel_idle.h include/linux/twheel_periodic.h
	make library
	make simulation
	make proofs
	twheel_periodic twheel_idle twheel_policy_smp
module/core/trace.* include/trace/* tools/bpftrace/*
	twheel_lockdep twheel_trace misuse trace_test bpftrace_test
module/main.c module/core/instance.* module/core/stats.* include/linux/twheel_stats.h
include/linux/twheel_virtual.h
	make simulation
	twheel_module twheel_system twheel_fault twheel_stats twheel_context twheel_clock_back
	twheel_hotplug misuse param_test fault_load_test
module/clock.*
	make simulation
	make interleave
	twheel_clock_set twheel_clock_set_meanwhile twheel_clock_back clock_test
	make restore
module/compat.h module/export.h module/features.c module/Kbuild Kbuild tools/test/features/*
	make features
	make check
	make matrix
module/dev/* module/core/instance.*
	make interleave
module/engine/wheel.h module/engine/timer.h include/linux/twheel_node.h module/core/timer.*
module/core/instance.* module/dev/file.*
	make models # if an order between CPUs changes
module/dev/due.* module/dev/read.*
	make models # if an order between CPUs changes
	wake_test poll_test read_test read_memory_test share_test
	stress_test server_test exact_test clock_test cell_alarm_test
	make fuzz
module/dev/ops.* module/dev/table.*
	op_test ops_test period_test refuse_test fault_test stress_test lib_test
	uring_test uring_ops_test uring_example_test
	make fuzz
module/dev/act.*
	act_test act_close_test act_refuse_test act_renewal_test act_target_test
	share_test trace_test fault_test
	make attack
	make intree-check # if it calls a function of cells.c: not all kernels have that
module/dev/cells.*
	make models
	cell_test cell_alarm_test map_test stress_test
	make fuzz
module/dev/file.* module/dev/user.*
	file_test setup_test limit_test memory_test share_test stats_test clock_test param_test
	make attack
	make fuzz
include/uapi/*
	make style CHECKS="abi headers"
	make library
	make interleave
	refuse_test setup_test op_test ops_test read_test map_test tool_test
	cell_test cell_alarm_test act_refuse_test act_renewal_test uring_ops_test
	make fuzz
Makefile
	make check
include/twheel.mk Makefile debian/* dkms.conf tools/packaging/dkms/* tools/packaging/udev/*
	make packages
tools/lib/* tools/python/*
	make library
tools/lib/device.c tools/lib/twheel_device.h
	lib_test lib_shared_test
	make style CHECKS="library headers"
tools/lib/twheel*.h tools/lib/twheel/*
	make style CHECKS=headers
tools/lib/libtwheel.* tools/lib/*.in tools/lib/abi.txt
	make style CHECKS="library abi"
	lib_shared_test
	make packages
tools/lib/process.h tools/lib/serve.c tools/lib/timer.c tools/lib/lock.c
	make bench MODE=wheels COUNTS=1000
	make programs
tools/cli/*
	make library
	tool_test tool_trace_test metrics_test
tools/cli/guard* tools/lib/guard.c tools/lib/twheel_guard.h
	tool_guard_test
tools/cli/completion/*
	make style CHECKS=completion
tools/Makefile tools/examples/userspace/*
	make library
	server_test uring_example_test retry_test example
tools/examples/python/*
	make library
tools/examples/kernel/*
	example retry_test
tools/man/*
	make style CHECKS="man links spelling"
	example
*.md tools/doc/*
	make style CHECKS="links spelling figures"
README.md tools/doc/*.md
	example
tools/packaging/rpm/*
	make rpm
tools/packaging/intree.sh tools/packaging/intree/* tools/packaging/resolve.py
	make intree-check
tools/packaging/series.sh tools/packaging/series/*
	make series-check
tools/packaging/dist.sh tools/packaging/version.sh
	make dist CHECK=1
tools/packaging/prometheus/*
	make style CHECKS=alerts
tools/bench/*
	make bench COUNTS=1000
tools/bench/native* tools/bench/threads/*
	make bench MODE=native
tools/bench/wheels.sh tools/bench/life/* tools/bench/threads/*
	make bench MODE=wheels COUNTS=1000
kunit/*
	make simulation
	make library
kunit/main* kunit/smp.* kunit/ledger.* kunit/stress.* kunit/probe.* kunit/life* kunit/basics.h kunit/Kbuild
tools/test/device/lib/* tools/test/vm/* tools/test/vm/guest/check.sh
	make check
tools/test/device/misuse/*
	misuse
tools/test/device/loop_* tools/test/for.sh
	make library
tools/test/vm/attack.sh tools/test/vm/guest/attack.sh
	make attack
tools/test/vm/fuzz.sh
	make fuzz
tools/test/vm/torture.sh tools/test/vm/guest/torture.sh
	make torture
END
}

# itself FILE: what a file of tests needs for what it is
itself() {
	local name=${1##*/}

	name=${name%.*}
	case $1 in
	kunit/*_test.c) echo "twheel_${name%_test}" ;;
	*.md | tools/test/device/loop_* | tools/test/vm/* | tools/test/for.sh) ;;
	tools/test/device/*_test.*) echo "$name" ;;
	tools/test/device/*) ;;
	tools/test/*) name=${1#tools/test/} && echo "make ${name%%/*}" ;;
	esac
}

# needs FILE: lines of the table, without the tab
needs() {
	local line pattern patterns matches='' before=''

	while IFS= read -r line; do
		if [[ $line = $'\t'* ]]; then
			[ -z "$matches" ] || echo "${line#$'\t'}"
		else
			[[ $before != $'\t'* ]] || matches=
			read -ra patterns <<< "$line"
			for pattern in "${patterns[@]}"; do
				# shellcheck disable=SC2053 # it is a pattern
				[[ $1 != $pattern ]] || matches=1
			done
		fi
		before=$line
	done < <(table)
}

run=
if [ "${1:-}" = --run ]; then
	run=1
	shift
fi
if [ $# = 0 ] || [ "$1" = --help ]; then
	sed -n '3,5s/^# //p' "$0" >&2
	exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
mapfile -t files < <(realpath -s --relative-to="$root" -- "$@")
cd "$root"
for file in "${files[@]}"; do
	[ -e "$file" ] || { echo "for.sh: there is no $file" >&2; exit 2; }
done

# In which order they came, and when each is needed.
commands=() tests=() checks=()
declare -A when
while IFS= read -r file; do
	while IFS= read -r need; do
		command=${need%% #*}
		if [[ ! $command =~ ^(make|tools/) ]]; then
			read -ra names <<< "$command"
			for name in "${names[@]}"; do
				[[ " ${tests[*]} " = *" $name "* ]] || tests+=("$name")
			done
			command=tests need=tests
		elif [[ $command = 'make style '* ]]; then
			command=${command#*=}
			read -ra names <<< "${command//\"/}"
			for name in "${names[@]}"; do
				[[ " ${checks[*]} " = *" $name "* ]] || checks+=("$name")
			done
			command=style need=style
		fi
		[ "${when["$command"]+known}" ] || commands+=("$command")
		[ "${when["$command"]-unknown}" = "" ] || when["$command"]=${need#"$command"}
	done < <(needs "$file"; itself "$file")
done < <(find "${files[@]}" -type f)

[ ${#commands[@]} != 0 ] || echo "# no command but make style"
for command in "${commands[@]}"; do
	if [ "$command" = tests ]; then
		# All of them are run, or these.
		[ ! "${when["make check"]+known}" ] || continue
		command="make check TESTS=\"${tests[*]}\""
	elif [ "$command" = style ]; then
		command="make style CHECKS=\"${checks[*]}\""
	fi
	if [ ! "$run" ]; then
		echo "$command${when["$command"]:-}"
	elif [ -z "${when["$command"]:-}" ]; then
		echo "+ $command"
		bash -c "$command"
	fi
done
