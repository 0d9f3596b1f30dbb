# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the scripts here share: talking, packages, the cache, cleaning up.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
CACHE=${TWHEEL_CACHE:-$ROOT/.cache}
mkdir -p "$CACHE"
CACHE=$(cd "$CACHE" && pwd)

say() {
	printf 'twheel: %s\n' "$*" >&2
}

# die CAUSE NEXT-STEP
die() {
	printf 'twheel: %s\n' "$1" >&2
	[ $# -lt 2 ] || printf 'twheel: %s\n' "$2" >&2
	exit 1
}

SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/twheel.XXXXXX")
# What runs in the background: what is waited for, and what goes on beside that.
CHILD=
ASIDE=
clean_up() {
	local child

	for child in $CHILD $ASIDE; do
		kill "$child" 2>/dev/null || :
		wait "$child" 2>/dev/null || :
	done
	rm -rf "$SCRATCH"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# One script at a time works in the cache; the lock goes with the process.
lock_cache() {
	exec 9> "$CACHE/lock"
	if ! flock -n 9; then
		say "another run uses $CACHE; waiting for it (up to an hour)"
		flock -w 3600 9 || die "the cache is still in use" \
			"see who runs it, or give TWHEEL_CACHE= another folder"
	fi
}

# need PACKAGE...: Debian packages that have to be there
need() {
	local missing=() package sudo=()

	if ! command -v dpkg-query > /dev/null; then
		say "this is not Debian, so nothing is installed for you"
		say "the equivalents of these Debian packages are needed: $*"
		die "cannot go on without dpkg" \
			"run this on Debian 12, or in a Debian 12 container"
	fi
	for package; do
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
		apt-get -qy install --no-install-recommends "${missing[@]}"; } \
		> "$SCRATCH/apt.log" 2>&1 < /dev/null; then
		tail -n 15 "$SCRATCH/apt.log" >&2
		die "apt-get failed, see above" \
		    "as root: apt-get update && apt-get install ${missing[*]}"
	fi
}

# watch_child SIGN...: wait for CHILD, whose status this has; on a terminal, with the
# seconds and what SIGN says
watch_child() {
	local start=$SECONDS status=0

	while kill -0 "$CHILD" 2>/dev/null; do
		sleep 1
		[ ! -t 2 ] || printf '\r\033[K  %d s, %s ' $((SECONDS - start)) \
			"$("$@" 2>/dev/null | tail -n1 | tr -cd '[:print:]' |
			cut -c1-65)" >&2
	done
	[ ! -t 2 ] || printf '\r\033[K' >&2
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

# clock_words DIR: words for a kernel whose clock is to be a good one. An emulated guest's
# own choice is one that QEMU has to be asked for, which would be most of what there is
# to do.
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
		! -name '*.mod.c' ! -name sessions_ported.c
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

# build_modules KDIR DIR: the module and, where the kernel has KUnit, its tests, and the
# example that uses the module; out of the tree, so that kernels do not mix
build_modules() {
	local kdir=$1 dir=$2

	mirror "$dir" Kbuild module include kunit tools/examples/kernel
	run_logged "$dir/modules.log" "building the module" \
		make -C "$kdir" M="$dir" -j"$(nproc)" W=1 modules
	# Else the versions of symbols that have changed since would be the old ones.
	rm -f "$dir/tools/examples/kernel/Module.symvers"
	run_logged "$dir/example.log" "building the example module" \
		make -C "$kdir" M="$dir/tools/examples/kernel" TWHEEL="$dir" \
		KBUILD_EXTRA_SYMBOLS="$dir/Module.symvers" modules
	if grep -h 'warning:' "$dir/modules.log" "$dir/example.log" >&2; then
		die "the compiler warns, see above"
	fi
}

# build_misuse KDIR DIR: the module that misuses the one built in DIR
build_misuse() {
	local kdir=$1 dir=$2

	mirror "$dir" tools/test/user/misuse
	run_logged "$dir/misuse.log" "building the module that misuses it" \
		make -C "$kdir" M="$dir/tools/test/user/misuse" TWHEEL="$dir" \
		KBUILD_EXTRA_SYMBOLS="$dir/Module.symvers" W=1 modules
}

# lacks KDIR OPTION...: those of them that the kernel is configured without
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
	cp "$1/module/twheel.ko" "$1/tools/test/user/misuse/twheel_misuse.ko" \
		"$root/modules/"
	grep -E '^[a-z]' "$ROOT/tools/test/user/misuse/expected" > "$SCRATCH/ways"
	mapfile -t options < <(grep -oE '[A-Z][A-Z_]+' "$SCRATCH/ways" | sort -u)
	lacks "$2" "${options[@]}" > "$run/lacks"
	grep -vwFf "$run/lacks" "$SCRATCH/ways" | cut -d' ' -f1 > "$root/ways"
	"$ROOT/tools/test/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/test/vm/guest/misuse.sh" "$root"
}

# A delay loop lasts next to no time, as where a kernel was kept from measuring it by a
# busy host, so that no test relies on one.
NO_DELAYS="lpj=4096"

# Reports are expected, and the guest goes on; its marks are not to be held back.
MISUSE_WORDS="oops=panic softlockup_panic=1 loglevel=8 printk.devkmsg=on $NO_DELAYS"
export MISUSE_WORDS

# build_tools DIR: the programs
build_tools() {
	mkdir -p "$1"
	run_logged "$1.log" "building the tools" \
		make -C "$ROOT/tools" -j"$(nproc)" OUT="$1"
}

# with_libraries PROGRAM FOLDER ROOT: the program, which is not static, into ROOT with
# all that it is linked to, there or in FOLDER
with_libraries() {
	local library

	mkdir -p "$3"/{bin,lib,lib64}
	cp "$1" "$3/bin/"
	LD_LIBRARY_PATH=$2 ldd "$1" | grep -o '/[^ ]*' > "$SCRATCH/ldd" ||
		die "$1 does not say what it is linked to" "see ldd $1"
	while read -r library; do
		case $library in
		/lib64/*) cp -L "$library" "$3/lib64/" ;;
		*) cp -L "$library" "$3/lib/" ;;
		esac
	done < "$SCRATCH/ldd"
}

# shellcheck source=debian.sh
. "$ROOT/tools/test/vm/debian.sh"
