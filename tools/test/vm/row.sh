#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# row.sh [--kernel] NAME [TEST...]: run one row of make matrix: all tests, or the named suites or
# programs, on the kernel of that row of tools/test/vm/rows. "misuse" is misuse of the module, and
# the row debug-6.1 is make check. Suites and programs are in two guests, suites of several CPUs
# in one with more, and misuse in another. With --kernel, prepare that kernel and run nothing.
# The last line is "N passed, N failed", and ", N skipped" where tests were skipped.
#
#   AT_ONCE=   how many guests run at a time
#   PATIENCE=  after how many seconds without progress a guest is ended (600)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests.sh
. "$ROOT/tools/test/vm/tests.sh"

only_kernel=
if [ "${1:-}" = --kernel ]; then
	only_kernel=1
	shift
fi
[ $# -ge 1 ] || die "usage: row.sh [--kernel] NAME [TEST...]"
row=$1
shift
names=("$@")
mapfile -t rows < <(awk '!/^#/ { print $1 }' "$ROOT/tools/test/vm/rows")
refuse_unknown row "$row" "${rows[@]}"
refuse_unknown_tests
read -r series parts cpus _ words < <(awk -v row="$row" \
	'$1 == row { $1 = ""; print }' "$ROOT/tools/test/vm/rows")

# A part may be an architecture.
for part in ${parts//,/ }; do
	! architecture "$part" || use_architecture "$part"
done
need_tests
case $parts in
*amd64)
	lock_cache
	stock_kernel "$series" "$parts"
	kdir=$stock_headers image=$stock_image ;;
*)
	read -ra parts <<< "${parts//,/ }"
	kdir=$("$ROOT/tools/test/vm/kernel.sh" --series "$series" "${parts[@]}")
	image=$kdir/${arch_image:-arch/x86/boot/bzImage}
	lock_cache
	[ -z "${GUEST_ARCH:-}" ] || arch_packages "${GUEST_PACKAGES[@]}" ;;
esac
[ -z "$only_kernel" ] || exit 0

work=$CACHE/matrix/$row
mkdir -p "$work"
words=${words/CLOCK/$(clock_words "$work")}
say "all tests of twheel on $row, in virtual machines; everything is kept in $work"
build_tests
IFS=, read -r cpus more <<< "$cpus"
run_tests "$cpus" "$more"
