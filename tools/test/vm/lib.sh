# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the scripts here share: talking, packages, the cache, cleaning up.

set -euo pipefail

# The head of a script says how it is called.
case ${1:-} in
-h | --help)
	sed -n '3,/^# shellcheck/{/^# shellcheck/!s/^# \{0,1\}//p}' "$0"
	exit ;;
esac

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
# It is made by what first keeps something in it.
CACHE=$(realpath -m "${TWHEEL_CACHE:-$ROOT/.cache}")

say() {
	printf 'twheel: %s\n' "$*" >&2
}

# die CAUSE NEXT-STEP
die() {
	printf 'twheel: %s\n' "$1" >&2
	[ $# -lt 2 ] || printf 'twheel: %s\n' "$2" >&2
	exit 1
}

# refuse_unknown WHAT NAMES VALID...: end here if one of NAMES is none of the valid ones, of which
# the first are shown. A script does this before it installs, fetches or builds anything.
refuse_unknown() {
	local name names valid

	valid=$'\n'$(printf '%s\n' "${@:3}")$'\n'
	read -ra names <<< "$2"
	# With spaces in them, there is one at most.
	[[ -z $2 || $valid != *' '* ]] || names=("$2")
	for name in "${names[@]}"; do
		[[ $valid = *$'\n'"$name"$'\n'* ]] || die "there is no $1 $name" \
			"there are: $(printf '%s\n' "${@:3:60}" | paste -sd ';' | sed 's/;/; /g')"
	done
}

# cases FILE...: the names that run a suite of these files, or a case: SUITE, SUITE.CASE, CASE
cases() {
	awk -F '[("]' 'FNR == 1 { suite = "" }
		/^\t\.name\t/ { print suite = $2 }
		/^\tKUNIT_CASE(_SLOW)?\(/ { sub(/\).*/, "", $2); name[++n] = $2; file[n] = FILENAME }
		{ of[FILENAME] = suite }
		END { for (i = 1; i <= n; i++) print of[file[i]] "." name[i] "\n" name[i] }' "$@"
}

SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/twheel.XXXXXX")
# Children in the background: CHILD is waited for, those of ASIDE run beside it. The files
# session.N are of what patient() runs.
CHILD=
ASIDE=()
clean_up() {
	local child

	for child in $CHILD "${ASIDE[@]}"; do
		kill "$child" 2>/dev/null || :
		wait "$child" 2>/dev/null || :
	done
	for child in "$SCRATCH"/session.*; do
		[ ! -e "$child" ] || kill -KILL -- "-${child##*.}" 2> /dev/null || :
	done
	if [ -n "${KEEP:-}" ]; then
		say "what was built is kept in $SCRATCH"
	else
		rm -rf "$SCRATCH"
	fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# One script at a time works in the cache; the lock goes with the process.
lock_cache() {
	mkdir -p "$CACHE"
	exec 9> "$CACHE/lock"
	if ! flock -n 9; then
		say "another run uses $CACHE; waiting for it (up to an hour)"
		flock -w 3600 9 || die "the cache is still in use" \
			"see who runs it, or give TWHEEL_CACHE= another folder"
	fi
}

# need PACKAGE...: Debian packages that have to be there. Elsewhere, programs of the same names
# will do.
need() {
	local missing=() package sudo=()

	if ! command -v dpkg-query > /dev/null; then
		for package; do
			command -v "$package" > /dev/null || missing+=("$package")
		done
		[ ${#missing[@]} -gt 0 ] || return 0
		say "this is not Debian, so nothing is installed for you"
		say "the equivalents of these Debian packages are needed: ${missing[*]}"
		die "cannot go on without dpkg" \
			"run this on Debian 12, or in a Debian 12 container"
	fi
	# progresses() needs pgrep.
	for package in procps "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
			grep -q 'ok installed' || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	say "installing Debian packages: ${missing[*]}"
	if [ "$(id -u)" != 0 ]; then
		command -v sudo > /dev/null ||
			die "installing them needs root, and there is no sudo" \
			    "as root: apt-get install ${missing[*]}"
		sudo=(sudo)
	fi
	if ! { "${sudo[@]}" apt-get -q update &&
	       "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -qy -o DPkg::Lock::Timeout=600 install --no-install-recommends "${missing[@]}"; } \
		> "$SCRATCH/apt.log" 2>&1 < /dev/null; then
		tail -n 15 "$SCRATCH/apt.log" >&2
		die "apt-get failed, see above" \
		    "as root: apt-get update && apt-get install ${missing[*]}"
	fi
}

# watch_child SIGN...: wait for CHILD, and return its status. Shows the seconds and what
# the command SIGN prints: on a terminal each second, in a log every minute.
watch_child() {
	local start=$SECONDS shown=$SECONDS status=0 end='' pause=60

	[ ! -t 2 ] || end='\r\033[K' pause=1
	while kill -0 "$CHILD" 2>/dev/null; do
		# A short command is not to wait for a whole second.
		if [ $((SECONDS - start)) -lt 2 ]; then sleep 0.1; else sleep 1; fi
		[ $((SECONDS - shown)) -ge "$pause" ] || continue
		shown=$SECONDS
		printf "$end  %d s, %s${end:+ }" $((SECONDS - start)) \
			"$("$@" 2>/dev/null | tail -n1 | tr -cd '[:print:]' |
			cut -c1-65)" >&2
		[ -n "$end" ] || echo >&2
	done
	# shellcheck disable=SC2059
	printf "$end" >&2
	wait "$CHILD" || status=$?
	CHILD=
	return "$status"
}

# run_logged LOG WHAT COMMAND...: with a sign of life, and the end of the log if
# it fails
run_logged() {
	local log=$1 what=$2 start=$SECONDS

	shift 2
	say "$what"
	"$@" > "$log" 2>&1 < /dev/null &
	CHILD=$!
	if ! watch_child cat "$log"; then
		tail -n 20 "$log" >&2
		die "$what: failed" "the whole log: $log"
	fi
	say "  done in $((SECONDS - start)) s"
}

# cpu_times PID: how long that process, or the session that it leads, has run on a CPU, and has
# waited for one, in 10 ms
cpu_times() {
	local pid files=()

	for pid in $(pgrep -s "$1" || echo "$1"); do
		files+=("/proc/$pid"/task/*/schedstat)
	done
	cat "${files[@]}" 2> /dev/null |
		awk '{ ran += $1; waited += $2 } END { printf "%d %d\n", ran / 1e7, waited / 1e7 }' || :
}

# progresses PID FILE...: wait for the end of that process, as long as a FILE grows. Fails once
# none has for PATIENCE seconds (600) of its own time: that in which it runs or sleeps. Time in
# which it waits for a CPU that others have does not count: a busy machine ends nothing.
progresses() {
	local pid=$1 seen='' size own=0 now before ran waited had had_waited passed slept step
	local nap=0.1

	shift
	read -r before _ < /proc/uptime
	read -r had had_waited < <(cpu_times "$pid")
	while kill -0 "$pid" 2> /dev/null; do
		sleep "$nap"
		read -r now _ < /proc/uptime
		read -r ran waited < <(cpu_times "$pid")
		size=$(stat -c %s "$@" 2> /dev/null | paste -sd ' ')
		# A process that has ended takes its times with it.
		[ "$ran" -ge "$had" ] || had=$ran
		[ "$waited" -ge "$had_waited" ] || had_waited=$waited
		passed=$((${now/./} - ${before/./}))
		slept=$((passed - (ran - had) - (waited - had_waited)))
		step=$((ran - had + (slept > 0 ? slept : 0)))
		# Several threads may run at a time.
		own=$((own + (step < passed ? step : passed)))
		[ "$size" = "$seen" ] || own=0
		before=$now had=$ran had_waited=$waited seen=$size
		[ "$own" -lt "${PATIENCE:-600}00" ] || return 1
		# A short command is not to wait for a whole second.
		[ "$own" -lt 200 ] || nap=1
	done
}

# patient LOG COMMAND...: run it, which writes to LOG, as long as it progresses. Else it is
# ended, with status 124; a program of tests names the case that ran.
patient() {
	local log=$1 child status=0

	shift
	setsid "$@" &
	child=$!
	: > "$SCRATCH/session.$child"
	if ! progresses "$child" "$log"; then
		kill -TERM -- "-$child"
		sleep 2
		echo "no progress for ${PATIENCE:-600} s: ended" >> "$log"
		status=124
	fi
	kill -KILL -- "-$child" 2> /dev/null || :
	wait "$child" 2> /dev/null || status=$((status ? status : $?))
	rm -f "$SCRATCH/session.$child"
	return "$status"
}

# cases_run LOG COMMAND...: patient, of a program of tools/test/library/kunit.c. It says first which
# cases it will run: one that has no result then has failed. LOG is printed, too, without totals.
cases_run() {
	local log=$1 status=0

	KUNIT_PLAN=1 "${@:2}" > "$log.plan"
	: > "$log"
	patient "$log" "${@:2}" | grep --line-buffered -v ' passed, ' | tee -a "$log" || status=1
	awk 'FNR == NR { if (/^plan /) plan[++n] = $2; next }
		/^(not )?ok / { sub(/^not /, ""); sub(/:$/, "", $2); had[$2]++ }
		END {
			for (i = 1; i <= n; i++)
				if (--had[plan[i]] < 0)
					print "not ok " plan[i] ": no result"
		}' "$log.plan" "$log" > "$log.missing"
	tee -a "$log" < "$log.missing"
	[ ! -s "$log.missing" ] || status=1
	return "$status"
}

# cases_verdict STATUS LOG...: the last line, of what cases_run has left
cases_verdict() {
	awk -v status="$1" '/^ok / { passed++ } /^not ok / { failed++ }
		END {
			print passed + 0 " passed, " (status && !failed ? 1 : failed + 0) " failed"
			exit status || failed
		}' "${@:2}"
}

# beside FUNCTION ARGUMENT...: in the background, as many at a time as there are CPUs, or $AT_ONCE
beside() {
	while [ "$(jobs -pr | wc -l)" -ge "${AT_ONCE:-$(nproc)}" ]; do
		wait -n || :
	done
	"$@" &
}

# begin_logged LOG WHAT COMMAND...: like run_logged, but beside others; end_logged waits
# for all that have begun.
BEGUN=()
begin_logged() {
	local log=$1 what=$2

	shift 2
	say "$what"
	"$@" > "$log" 2>&1 < /dev/null &
	ASIDE+=($!)
	BEGUN+=("$! $log $what")
}

end_logged() {
	local child log what

	for child in "${BEGUN[@]}"; do
		read -r child log what <<< "$child"
		CHILD=$child
		if ! watch_child cat "$log"; then
			tail -n 20 "$log" >&2
			die "$what: failed" "the whole log: $log"
		fi
	done
	BEGUN=() ASIDE=()
}

# clock_words DIR: boot words that make the TSC the clock of an emulated guest. By itself
# the guest would choose a clock that QEMU emulates as a device, and reading that would
# take most of its time.
clock_words() {
	! grep -qE '^flags.*\b(vmx|svm)\b' /proc/cpuinfo || return 0
	[ "$(uname -m)" = x86_64 ] || return 0
	gcc -O2 -o "$1/tsc" "$ROOT/tools/test/vm/tsc.c"
	echo "tsc=reliable clocksource=tsc tsc_early_khz=$("$1/tsc")"
}

# sources PATH...: the source files below the current folder that kbuild reads
sources() {
	find "$@" -type f \( -name '*.[ch]' -o -name '*.S' -o -name '*.mk' \
		-o -name '*.sed' -o -name Kbuild \) \
		! -name '*.mod.c' ! -name 'sessions_*.c'
}

# mirror DIR PATH...: make DIR/PATH a copy of the sources. Only a file that differs is
# written, so that make builds only that again. A file that is gone from the sources, or
# has moved, is removed with its object.
mirror() {
	local dir=$1 file

	shift
	mkdir -p "$dir"
	(cd "$ROOT" && sources "$@" | sort) > "$SCRATCH/sources"
	while read -r file; do
		cmp -s "$ROOT/$file" "$dir/$file" || {
			mkdir -p "$(dirname "$dir/$file")"
			cp "$ROOT/$file" "$dir/$file"
		}
	done < "$SCRATCH/sources"
	(cd "$dir" && sources "$@" | sort | comm -13 "$SCRATCH/sources" -) |
		while read -r file; do
			rm -f "$dir/$file" "$dir/${file%.*}.o"
		done
}

# The modules of suites; programs have those of all.
SUITE_MODULES=(twheel_kunit twheel_kunit_smp)

# suite_files TREE [MODULE]: the sources of its suites, or of all, in the order of kunit/Kbuild
suite_files() {
	local module

	[ $# != 1 ] || set -- "$1" "${SUITE_MODULES[@]}"
	for module in "${@:2}"; do
		sed -n "/^$module-y /s/ /\n/gp" "$1/kunit/Kbuild"
	done | sed -n "s|^\(.*_test\)\.o$|$1/kunit/\1.c|p"
}

# suite_names: of those files, the names of the suites
suite_names() {
	sed 's|.*/\(.*\)_test\.c$|twheel_\1|'
}

# suites MODULE...: the names of their suites
suites() {
	suite_files "$ROOT" "$@" | suite_names
}

# narrow DIR [SUITE...]: of the suites in DIR, build only those, if any is named. What a
# NAME_module.c has is for the suite of NAME_test.c.
narrow() {
	local dir=$1 suite

	shift
	for suite in $([ $# = 0 ] || suites "${SUITE_MODULES[@]}"); do
		[[ " $* " = *" $suite "* ]] ||
			sed -i "s/ ${suite#twheel_}_\(test\|module\)\.o\>//g" "$dir/kunit/Kbuild"
	done
}

# build_modules KDIR DIR [SUITE...]: build the module out of the tree, so that kernels do not
# mix. Where the kernel has KUnit, also build the tests, or only those named.
build_modules() {
	local kdir=$1 dir=$2

	mirror "$dir" Kbuild module include kunit
	narrow "$dir" "${@:3}"
	run_logged "$dir/modules.log" "building the module" \
		make -C "$kdir" M="$dir" -j"$(nproc)" W=1 CONFIG_TWHEEL_KUNIT_TEST=m modules
	# The kernel's own makefiles say that a module was built with another pahole.
	! grep -h 'warning:' "$dir/modules.log" | grep -v 'pahole version differs' >&2 ||
		die "the compiler warns, see above"
}

# begin_beside KDIR DIR FOLDER [WORD...]: build the modules of that folder of the sources. They
# stand on the module that is built in DIR. The caller waits with end_logged
begin_beside() {
	mirror "$2" "$3"
	# Else the versions of symbols that have changed since would be the old ones.
	rm -f "$2/$3/Module.symvers"
	begin_logged "$2/$(basename "$3").log" "building $3" make -C "$1" M="$2/$3" TWHEEL="$2" \
		KBUILD_EXTRA_SYMBOLS="$2/Module.symvers" "${@:4}" modules
}

# lacks KDIR OPTION...: print those options that the kernel is configured without
lacks() {
	local kdir=$1 option

	shift
	for option; do
		grep -q "^CONFIG_$option=[ym]" "$kdir/.config" || echo "$option"
	done
}

# misuse_initrd DIR KDIR RUN: RUN/initrd for the guest in which both work. What a kernel
# without some option does not report is left out; RUN/lacks tells verdict.py.
misuse_initrd() {
	local root=$SCRATCH/misuse run=$3 options

	rm -rf "$root"
	mkdir -p "$root/modules"
	cp "$1/module/twheel.ko" "$1/tools/test/device/misuse/twheel_misuse.ko" \
		"$root/modules/"
	grep -E '^[a-z]' "$ROOT/tools/test/device/misuse/expected" > "$SCRATCH/ways"
	mapfile -t options < <(grep -oE '[A-Z][A-Z_]+' "$SCRATCH/ways" | sort -u)
	lacks "$2" "${options[@]}" > "$run/lacks"
	grep -vwFf "$run/lacks" "$SCRATCH/ways" | cut -d' ' -f1 > "$root/ways"
	"$ROOT/tools/test/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/test/vm/guest/misuse.sh" "$root"
}

# Words of every guest's kernel. A busy host may leave a CPU alone for a minute or two. So
# the kernel's own watchdogs get the longest times that they take; what spins is still
# found. A busy host also makes the kernel measure its delay loop wrong. So it is told a
# value, by which a delay is very short: no test can rely on one.
PATIENT_WORDS="softlockup_panic=1 watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300 \
sysctl.kernel.hung_task_timeout_secs=1200 workqueue.watchdog_thresh=300 lpj=4096"

# Reports are expected, and the guest goes on. Its marks must not be held back.
MISUSE_WORDS="oops=panic loglevel=8 printk.devkmsg=on $PATIENT_WORDS"
export MISUSE_WORDS

# begin_tools DIR: build the programs, but not those of event loops, which are make library's. The
# caller waits with end_logged.
begin_tools() {
	mkdir -p "$1"
	begin_logged "$1.log" "building the tools" \
		make -C "$ROOT/tools" -j"$(nproc)" OUT="$1" HAVE_LOOPS= \
		${GUEST_ARCH:+HAVE_32=}
}

build_tools() {
	begin_tools "$1"
	end_logged
}

# result STATUS WHAT [COMMAND...]: how something ended that a script looks at, counted in
# $passed or $failed. Of what failed, the command says why.
passed=0 failed=0
result() {
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
		echo "ok $2"
	else
		failed=$((failed + 1))
		[ $# = 2 ] || { "${@:3}" || :; } | sed 's/^/       /'
		echo "not ok $2"
	fi
}

# verdict: the last line of a script. Fails if something has, or if there was nothing.
verdict() {
	echo "$passed passed, $failed failed${skipped:+, $skipped skipped}"
	[ "$failed" = 0 ] && [ "$passed" != 0 ]
}

# build_small TREE FOLDER WHAT LINE...: a kernel of that source that has little but these lines; or
# only what is in its folder WHAT, by W=1. No warning is about twheel.
build_small() {
	local tree=$1 folder=$2 what=$3 line

	shift 3
	mkdir -p "$folder"
	make -C "$tree" O="$folder" tinyconfig || return
	printf '%s\n' "$@" >> "$folder/.config"
	make -C "$tree" O="$folder" olddefconfig || return
	for line; do
		grep -qx "$line" "$folder/.config" || {
			echo "the configuration does not take $line"
			return 1
		}
	done
	[ -z "$what" ] || make -C "$tree" O="$folder" -j"$(nproc)" prepare || return
	# shellcheck disable=SC2094 # patient looks at the size of a log only
	patient "$folder/build.log" make -C "$tree" O="$folder" -j"$(nproc)" \
		${what:+W=1 "$what"} > "$folder/build.log" 2>&1 || {
		tail -n 20 "$folder/build.log"
		return 1
	}
	! grep -h 'warning:.*twheel\|twheel.*warning:' "$folder/build.log"
}

# link_tree FROM TO: TO is that source, and shares its files by hard links. Whoever changes it writes
# to none in place. FROM may be a link: "/." is what it holds.
link_tree() {
	mkdir -p "$2" && cp -al "$1/." "$2"
}

# judge_console WHAT FILE: the kernel of that guest says of nothing that it is wrong
judge_console() {
	local status=0

	python3 -B "$ROOT/tools/test/vm/complaints.py" "$2" > "$SCRATCH/complaints" || status=1
	result $status "$1: the kernel does not complain" cat "$SCRATCH/complaints"
}

# check WHAT COMMAND...: the result of a command, which speaks to $work/log
check() {
	local status=0

	say "$1"
	"${@:2}" >> "${work:?}/log" 2>&1 < /dev/null || status=$?
	result $status "$1" tail -n 15 "$work/log"
}

# with_libraries PROGRAM FOLDER ROOT: the program, which is not static, into ROOT with
# all that it is linked to, there or in FOLDER
with_libraries() {
	local library

	mkdir -p "$3"/{bin,lib,lib64}
	cp "$1" "$3/bin/"
	if [ -n "${GUEST_ARCH:-}" ]; then
		libraries_of "$1" "$2" > "$SCRATCH/ldd"
	else
		LD_LIBRARY_PATH=$2 ldd "$1" | grep -o '/[^ ]*' > "$SCRATCH/ldd" ||
			die "$1 does not say what it is linked to" "see ldd $1"
	fi
	while read -r library; do
		case $library in
		/lib64/*) cp -L "$library" "$3/lib64/" ;;
		*) cp -L "$library" "$3/lib/" ;;
		esac
	done < "$SCRATCH/ldd"
}

# shellcheck source=debian.sh
. "$ROOT/tools/test/vm/debian.sh"
# shellcheck source=arch.sh
. "$ROOT/tools/test/vm/arch.sh"
# The compiler of what runs in a guest, for scripts that source this.
# shellcheck disable=SC2034
COMPILER=(gcc)
[ -z "${GUEST_ARCH:-}" ] || use_architecture "$GUEST_ARCH"
