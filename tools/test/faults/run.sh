#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make faults: do the tests find faults? Plants each of tools/test/faults/planted in a copy of
# the sources, one at a time, and runs the tests until one fails. Arguments: names of
# faults, to plant only those; "engine" is all those in the engine. The last line is
# "N passed, N failed": a fault that no test finds is a failure.
#
# One in the engine is first looked for by make engine's program, in seconds; and in a
# guest only if that finds nothing. Those whose names begin with "misuse-" are in what
# reports misuse, and looked for in the guest in which the module is misused. A guest
# that makes no progress for ten minutes hangs, and has found nothing; unless the fault is
# marked as one that hangs, for which four minutes are enough.
# CHECK=1 only checks that each fault still changes its file: see check.sh.
[ -z "${CHECK:-}" ] || exec "$(dirname "$0")/check.sh"
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

# The engine's program takes some seconds of a CPU, and ends itself at fifteen.
engine_limit=300

need gcc libc6-dev make
lock_cache
work=$CACHE/faults
mkdir -p "$work"

# What guests need, once one is needed.
kernel=
prepare_guests() {
	[ -z "$kernel" ] || return 0
	need qemu-system-x86 busybox-static cpio kmod liburing-dev python3
	# The kernel's builder locks the cache itself.
	exec 9>&-
	kernel=$("$ROOT/tools/test/vm/kernel.sh" base debug)
	lock_cache
	build_tools "$work/tools"
}

build() {
	make -C "$kernel" M="$work/source" -j"$(nproc)" modules \
		> "$work/build.log" 2>&1 < /dev/null ||
		die "$1: does not compile" "see $work/build.log"
}

# try_engine NAME HANGS: prints which case or scenario fails, if any
try_engine() {
	local status=0

	SOURCE=$work/source timeout --kill-after=5 "$engine_limit" \
		"$ROOT/tools/test/engine/run.sh" > "$work/engine.log" 2>&1 || status=$?
	grep -m 1 -E '^not ok|ERROR: AddressSanitizer|runtime error:' \
		"$work/engine.log" && return
	case $status in
	0) ;;
	124 | 137 | 152) [ -z "$2" ] || echo "the engine hangs" ;;
	*) die "$1: the engine's program cannot be built or run" \
		"see $work/engine.log" ;;
	esac
}

# only SUITE: of all tests, leave only that suite, or program
only() {
	local module

	for module in main main_smp; do
		if [ "$(suites $module | grep -cx "$1")" != 0 ]; then
			only_module=twheel_kunit${module#main}
			narrow "$work/source" "$1"
			return
		fi
	done
	[ -e "$work/tools/test/user/$1" ] ||
		die "there is no suite or program $1" "see tools/test/faults/planted"
	only_program=$1
}

# try SUITE HANGS: run the tests, or one, on what is in $work/source; prints who failed,
# if any
try() {
	local root=$SCRATCH/files only_module='' only_program=''

	[ -z "$1" ] || only "$1"
	build "$name"

	rm -rf "$root" "$work/results" "$work/console"
	mkdir -p "$root"/{modules,tests,bin}
	cp "$work/source/module/twheel.ko" "$root/modules/"
	if [ -n "$only_module" ]; then
		cp "$work/source/kunit/$only_module.ko" "$root/modules/"
	elif [ -n "$only_program" ]; then
		cp "$work/tools/test/user/$only_program" "$root/tests/"
	else
		# No suite uses the device.
		[[ $file = module/dev/* ]] ||
			cp "$work"/source/kunit/twheel_kunit{,_smp}.ko \
				"$root/modules/"
		cp "$work"/tools/test/user/*_test "$root/tests/"
		# These are not static, and use nothing that no other test uses.
		rm -f "$root"/tests/loop_*_test
	fi
	"$ROOT/tools/test/vm/initramfs.sh" "$work/initrd" \
		"$ROOT/tools/test/vm/guest/faults.sh" "$root"
	"$ROOT/tools/test/vm/boot.sh" --kernel "$kernel/arch/x86/boot/bzImage" \
		--initrd "$work/initrd" --patience "$([ -n "$2" ] && echo 240 || echo 600)" \
		--console "$work/console" --results "$work/results" \
		--append "oops=panic panic_on_warn=1 possible_cpus=3 loglevel=8 \
			sysctl.kernel.panic_on_rcu_stall=1 $PATIENT_WORDS" 2> /dev/null || :
	tr -d '\r' < "$work/results" | grep -oE 'not ok.*' | head -n 1 | grep . ||
		grep -aE 'BUG:|WARNING:|rcu: INFO|Oops|Kernel panic' \
			"$work/console" |
			head -n 1 ||
		grep -q '^@complete' "$work/results" ||
		if [ -n "$2" ]; then
			echo "the guest hangs"
		else
			say "$name: the guest hangs, and that is not what is expected"
		fi
}

# try_misuse: misuse the module of $work/source; prints the first failure
try_misuse() {
	build "$name"
	begin_misuse "$kernel" "$work/source"
	end_logged
	mkdir -p "$work/misused"
	misuse_initrd "$work/source" "$kernel" "$work/misused"
	rm -f "$work/misused/console"
	"$ROOT/tools/test/vm/boot.sh" --kernel "$kernel/arch/x86/boot/bzImage" \
		--initrd "$work/misused/initrd" \
		--console "$work/misused/console" --append "$MISUSE_WORDS" \
		2> /dev/null || :
	python3 "$ROOT/tools/test/vm/verdict.py" "$ROOT" "$work/misused" \
		> "$work/verdict" || head -n 1 "$work/verdict"
}

# wanted NAME FILE NAMES...
wanted() {
	local name=$1 file=$2

	shift 2
	[ "$#" != 0 ] || return 0
	[[ " $* " != *" $name "* ]] || return 0
	[[ " $* " = *" engine "* && $file = module/engine/* ]]
}

# mend: remove the fault from $work/source. Files without one are not touched, so that make
# does not build them again.
mend() {
	local file

	while read -r file; do
		cmp -s "$ROOT/$file" "$work/source/$file" ||
			cp "$ROOT/$file" "$work/source/$file"
	done < <(cd "$ROOT" && find module include kunit -name '*.[ch]')
}

rm -rf "$work/source"
mkdir "$work/source"
cp -r "$ROOT"/{Kbuild,module,include,kunit} "$work/source/"
passed=0 failed=0
# The columns are divided by tabs: those of a change are written as \t.
while IFS=$'\t' read -r name file change suite more; do
	wanted "$name" "$file" "$@" || continue
	[ -z "$more" ] || die "$name: too many columns" "see tools/test/faults/planted"
	hangs=
	if [[ " $suite " = *" hangs "* ]]; then
		hangs=1
		suite=${suite%hangs}
		suite=${suite% }
	fi
	mend
	sed -i "$change" "$work/source/$file"
	if cmp -s "$ROOT/$file" "$work/source/$file"; then
		say "$name: does not change $file"
		failed=$((failed + 1))
		continue
	fi
	finder=
	if [[ $file = module/engine/* ]]; then
		finder=$(try_engine "$name" "$hangs")
	fi
	if [ -z "$finder" ]; then
		prepare_guests
		case $name in
		misuse-*) finder=$(try_misuse) ;;
		*) finder=$(try "$suite" "$hangs") ;;
		esac
	fi
	if [ -n "$finder" ]; then
		passed=$((passed + 1))
		echo "found: $name: ${finder#"${finder%%[![:space:]]*}"}"
	else
		failed=$((failed + 1))
		echo "NOT FOUND: $name"
	fi
done < <(grep -v '^#' "$ROOT/tools/test/faults/planted")
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
