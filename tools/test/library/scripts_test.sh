#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What hangs is ended, and a mistyped name is refused before anything is installed, fetched or
# built. What for.sh says that a change needs is there. Argument: a folder.
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=$1/scripts status=0
mkdir -p "$folder"/{bin,tmp}
export TMPDIR=$folder/tmp
unset KEEP MAKEFLAGS MFLAGS MAKELEVEL

# Of three cases, the second one sleeps for ever. It and the third one have no result.
cat > "$folder/cases" <<'END'
[ -z "${KUNIT_PLAN:-}" ] || { printf 'plan %s\n' a.good a.hangs a.late; exit; }
echo 'ok a.good (0.00 s)'
sleep 100000
END
if PATIENCE=1 bash -c '. tools/test/vm/lib.sh; cases_run "$SCRATCH/log" sh "$0"' "$folder/cases" \
		> "$folder/said" || [ "$(cat "$folder/said")" != 'ok a.good (0.00 s)
not ok a.hangs: no result
not ok a.late: no result' ]; then
	echo "what hangs is not ended and named:"
	cat "$folder/said"
	status=1
fi

# for.sh knows commands for each source, and all that they name exists.
while read -r source; do
	if ! tools/test/for.sh "$source" > "$folder/said" 2>&1 || [ ! -s "$folder/said" ]; then
		echo "for.sh knows no tests for $source"
		status=1
	fi
	cat "$folder/said" >> "$folder/commands"
done < <(find module include tools/{lib,cli,python} -regex '.*\.\([ch]\|hpp\|py\)' \
	! -name '*.mod.c')
for path in debian tools/{bench,bpftrace,doc,examples,man,packaging,style} tools/test/*; do
	tools/test/for.sh "$path" >> "$folder/commands"
done
grep -oE '\b(twheel_\w+|\w+_test|misuse|example)\b' "$folder/commands" | sort -u > "$folder/named"
[ "$(wc -l < "$folder/named")" -gt 50 ] || { echo "for.sh names few tests"; status=1; }
bash -c '. tools/test/vm/lib.sh; . tools/test/vm/tests.sh; mapfile -t names; refuse_unknown_tests' \
	< "$folder/named" || status=1
while read -r target; do
	make -n "$target" > "$folder/said" 2>&1 ||
		{ echo "for.sh names make $target, which there is not"; status=1; }
done < <(sed -n 's/^make \([a-z-]*\).*/\1/p' "$folder/commands" | sort -u)
while read -r script; do
	[ -x "$script" ] || { echo "for.sh names $script, which there is not"; status=1; }
done < <(sed -n 's/^\(tools[^ ]*\) .*/\1/p' "$folder/commands" | sort -u)

# What would install or build leaves a mark.
for program in apt-get dpkg-query sudo gcc clang-14 qemu-system-x86_64 tar spin; do
	printf '#!/bin/sh\necho "$0 $*" >> %s\nexit 1\n' "$folder/done" > "$folder/bin/$program"
	chmod +x "$folder/bin/$program"
done
export PATH=$folder/bin:$PATH TWHEEL_CACHE=$folder/cache

# refuses VALID COMMAND...: the message has the mistyped name, and this one
refuses() {
	if (ulimit -t 5 && "${@:2}") > "$folder/said" 2>&1 < /dev/null; then
		echo "is not refused: ${*:2}"
	elif ! grep -q 'there is no .*typo' "$folder/said" ||
			! grep -q "there are: .*$1" "$folder/said"; then
		echo "does not say what is valid: ${*:2}"
		cat "$folder/said"
	elif [ -e "$folder/done" ] || [ -e "$folder/cache" ] || [ -n "$(ls "$folder/tmp")" ]; then
		echo "has done something: ${*:2}"
	else
		return 0
	fi
	status=1
	rm -rf "$folder"/{done,cache,tmp/*}
}

make=(make -s --no-print-directory)
refuses twheel_api "${make[@]}" check TESTS="op_test typo"
refuses sparse "${make[@]}" style CHECKS=typo
refuses cells "${make[@]}" models MODELS="cells typo"
refuses stock-6.12 "${make[@]}" matrix KERNELS=typo
refuses reciprocal "${make[@]}" proofs PROOFS=typo
refuses spin-16 "${make[@]}" attack ATTACKS=typo
refuses 6.12 "${make[@]}" attack SERIES=typo
refuses wireguard "${make[@]}" ports PORTS=typo
refuses module/engine/wheel.c "${make[@]}" mutants MUTANTS=module/engine/typo.c
refuses hotplug "${make[@]}" torture SCENARIOS=typo
refuses arm64 "${make[@]}" torture KERNEL=typo
refuses coarse "${make[@]}" fuzz KERNELS="debug typo"
refuses wheels "${make[@]}" bench MODE=typo
refuses user "${make[@]}" bench HALF=typo
refuses 6.12 "${make[@]}" intree-check SERIES=typo
refuses 6.12 "${make[@]}" series-check SERIES=typo
refuses twheel_api tools/test/simulation/run.sh typo
refuses twheel_api tools/test/library/run.sh typo
refuses scenario-01 tools/test/engine/run.sh typo
refuses "two bases, timers idle" tools/test/interleave/run.sh typo
refuses arm64-6.1 tools/test/vm/row.sh typo
refuses op_test tools/test/vm/row.sh stock-6.12 typo
refuses rtdebug tools/test/vm/kernel.sh base typo
refuses 7.2 tools/test/vm/kernel.sh --series typo base
exit $status
