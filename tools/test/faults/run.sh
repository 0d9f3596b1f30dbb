#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make faults: do the tests find faults? Plants each of tools/test/faults/planted in a copy
# of the sources, one at a time, and runs the tests until one fails. Arguments: names of
# faults, to plant only those; "engine" is all those in the engine. The last line is
# "N passed, N failed": a fault that no test finds is a failure.
#
# A fault in the engine is first looked for by make engine's program; then each in
# user-mode Linux, see um.py. Both take seconds. What that does not find is looked for in
# an emulated guest with the debug kernel, which has more that a test may need. Only the
# suite or program runs that the fault names, if it names one.
#
# Those whose names begin with "misuse-" are in what reports misuse, and looked for in a
# guest in which the module is misused. An emulated guest that makes no progress for ten
# minutes hangs, and has found nothing; unless the fault is marked as one that hangs, for
# which four minutes are enough.
#
# The log in the cache has what was found: a run that was cut off goes on from there. A
# line counts as long as the module, the fault and the test that it names are the same.
# JOBS=N runs so many guests of user-mode Linux at a time.
# CHECK=1 only checks that each fault still changes its file: see check.sh.
[ -z "${CHECK:-}" ] || exec "$(dirname "$0")/check.sh"
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=../um/um.sh
. "$ROOT/tools/test/um/um.sh"

# The engine's program takes some seconds of a CPU, and ends itself at fifteen.
engine_limit=300

need gcc libc6-dev make
lock_cache
work=$CACHE/faults
log=$work/log
mkdir -p "$work"
touch "$log"

# What emulated guests need, once one is needed.
kernel=
prepare_guests() {
	[ -z "$kernel" ] || return 0
	need qemu-system-x86 busybox-static cpio kmod python3
	# The kernel's builder locks the cache itself.
	exec 9>&-
	kernel=$("$ROOT/tools/test/vm/kernel.sh" base debug)
	lock_cache
}

# What follows is about one fault: $name, $file, $change, $suite, $hangs and $stamp. It is
# planted in $work/source.

build() {
	make -C "$kernel" M="$work/source" -j"$(nproc)" modules \
		> "$work/build.log" 2>&1 < /dev/null ||
		die "$name: does not compile" "see $work/build.log"
}

# try_engine: prints which case or scenario fails, if any
try_engine() {
	local status=0

	SOURCE=$work/source timeout --kill-after=5 "$engine_limit" \
		"$ROOT/tools/test/engine/run.sh" > "$work/engine.log" 2>&1 || status=$?
	grep -m 1 -E '^not ok|ERROR: AddressSanitizer|runtime error:' \
		"$work/engine.log" && return
	case $status in
	0) ;;
	124 | 137 | 152) [ "$hangs" = no ] || echo "the engine hangs" ;;
	*) die "$name: the engine's program cannot be built or run" \
		"see $work/engine.log" ;;
	esac
}

# only: leave only $suite of all tests, a suite or program
only() {
	local module

	for module in main main_smp; do
		if [ "$(suites $module | grep -cx "$suite")" != 0 ]; then
			only_module=twheel_kunit${module#main}
			narrow "$work/source" "$suite"
			return
		fi
	done
	only_program=$suite
}

# try: run the tests, or one, on what is in $work/source; prints who failed, if any
try() {
	local root=$SCRATCH/files only_module='' only_program=''

	[ -z "$suite" ] || only
	build

	rm -rf "$root" "$work/results" "$work/console"
	mkdir -p "$root"/{modules,tests,bin}
	cp "$work/source/module/twheel.ko" "$root/modules/"
	if [ -n "$only_module" ]; then
		cp "$work/source/kunit/$only_module.ko" "$root/modules/"
	elif [ -n "$only_program" ]; then
		cp "$work/programs/$only_program" "$root/tests/"
	else
		# No suite uses the device.
		[[ $file = module/dev/* ]] ||
			cp "$work"/source/kunit/twheel_kunit{,_smp}.ko \
				"$root/modules/"
		cp "$work"/programs/*_test "$root/tests/"
	fi
	cp "$work/um/tools/cli/twheel" "$root/bin/"
	"$ROOT/tools/test/vm/initramfs.sh" "$work/initrd" \
		"$ROOT/tools/test/vm/guest/faults.sh" "$root"
	"$ROOT/tools/test/vm/boot.sh" --kernel "$kernel/arch/x86/boot/bzImage" \
		--initrd "$work/initrd" \
		--patience "$([ "$hangs" = no ] && echo 600 || echo 240)" \
		--console "$work/console" --results "$work/results" \
		--append "oops=panic panic_on_warn=1 possible_cpus=3 loglevel=8 \
			sysctl.kernel.panic_on_rcu_stall=1 $PATIENT_WORDS" 2> /dev/null || :
	tr -d '\r' < "$work/results" | grep -oE 'not ok.*' | head -n 1 | grep . ||
		grep -aE 'BUG:|WARNING:|rcu: INFO|Oops|Kernel panic' \
			"$work/console" |
			head -n 1 | grep . ||
		grep -q '^@complete' "$work/results" ||
		if [ "$hangs" = no ]; then
			say "$name: the guest hangs, and that is not what is expected"
		else
			echo "the guest hangs"
		fi
}

# try_misuse: misuse the module of $work/source; prints the first failure
try_misuse() {
	build
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

# is_program: does the fault name a program?
is_program() {
	[ -e "$ROOT/tools/test/user/$suite.c" ] || [ -e "$ROOT/tools/test/user/$suite.sh" ]
}

is_suite() {
	[ "$({ suites main; suites main_smp; } | grep -cx "$suite")" != 0 ]
}

# stamp: a number of the fault, the module, and the tests that may find it
stamp() {
	local tests=("$ROOT"/kunit)

	if is_program; then
		tests=("$ROOT/tools/test/user/$suite".* "$ROOT"/tools/{lib,test/user/lib})
	elif [ -z "$suite" ]; then
		tests+=("$ROOT"/tools/test/user)
	fi
	{
		echo "$file $change $suite $hangs"
		find "$ROOT"/{module,include} "${tests[@]}" -name '*.[ch]' -o -name '*.sh' |
			sort | xargs cat
	} | sha256sum | cut -c1-16
}

# is_found: does the log have the fault?
is_found() {
	grep -q "^$stamp	" "$log"
}

# found WHERE FINDER: note that the fault is found, if there is a finder
found() {
	local finder=${2#"${2%%[![:space:]]*}"}

	[ -n "$finder" ] || return 0
	printf '%s\t%s\t%s\t%s\n' "$stamp" "$name" "$1" "$finder" >> "$log"
	echo "found: $name: $finder"
}

# wanted NAMES...
wanted() {
	[ "$#" != 0 ] || return 0
	[[ " $* " != *" $name "* ]] || return 0
	[[ " $* " = *" engine "* && $file = module/engine/* ]]
}

# plant: files without a fault are only written if they have one, so that make does not
# build them again
plant() {
	local path

	while read -r path; do
		cmp -s "$ROOT/$path" "$work/source/$path" ||
			cp "$ROOT/$path" "$work/source/$path"
	done < <(cd "$ROOT" && find module include kunit -name '*.[ch]')
	sed -i "$change" "$work/source/$file"
}

natively() {
	# No suite that is named is in the engine's program.
	[[ $file = module/engine/* && -z $suite ]] || return 0
	plant
	found natively "$(try_engine)"
}

emulated() {
	local finder

	prepare_guests
	plant
	case $name in
	misuse-*) finder=$(try_misuse) || : ;;
	*) finder=$(try) || : ;;
	esac
	found emulated "$finder"
	is_found || echo "NOT FOUND: $name"
}

# left: of the faults that have been chosen, those that are not found yet
left() {
	local stamp line

	while IFS= read -r line; do
		stamp=${line%%$'\t'*}
		is_found || printf '%s\n' "$line"
	done < "$SCRATCH/chosen"
}

# each COMMAND: run it for each of these
each() {
	local stamp hangs name file change suite

	while IFS=$'\t' read -r stamp hangs name file change suite <&3; do
		"$@"
	done 3< <(left)
}

rm -rf "$work/source"
mkdir "$work/source"
cp -r "$ROOT"/{Kbuild,module,include,kunit} "$work/source/"
failed=0
: > "$SCRATCH/chosen"
# The columns are divided by tabs: those of a change are written as \t.
while IFS=$'\t' read -r name file change suite more; do
	wanted "$@" || continue
	[ -z "$more" ] || die "$name: too many columns" "see tools/test/faults/planted"
	hangs=no
	if [[ " $suite " = *" hangs "* ]]; then
		hangs=hangs
		suite=${suite%hangs}
		suite=${suite% }
	fi
	[ -z "$suite" ] || is_program || is_suite ||
		die "$name: there is no suite or program $suite" \
			"see tools/test/faults/planted"
	if sed "$change" "$ROOT/$file" | cmp -s - "$ROOT/$file"; then
		say "$name: does not change $file"
		failed=$((failed + 1))
		continue
	fi
	stamp=$(stamp)
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$stamp" "$hangs" "$name" "$file" "$change" "$suite" \
		>> "$SCRATCH/chosen"
done < <(grep -v '^#' "$ROOT/tools/test/faults/planted")

each natively
left > "$SCRATCH/left"
if [ -s "$SCRATCH/left" ]; then
	need liburing-dev
	begin_um "$work/um" um-user
	rm -rf "$work/programs"
	cp -r "$ROOT_FOLDER/tests" "$work/programs"
	(cd "$ROOT" &&
		LOG=$log nice -n 5 python3 tools/test/faults/um.py < "$SCRATCH/left")
fi
each emulated

passed=0
: > "$SCRATCH/where"
while IFS=$'\t' read -r stamp _ name _; do
	if is_found; then
		passed=$((passed + 1))
		grep -m 1 "^$stamp	" "$log" | cut -f 3 >> "$SCRATCH/where"
	else
		failed=$((failed + 1))
	fi
done < "$SCRATCH/chosen"
sort "$SCRATCH/where" | uniq -c
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
