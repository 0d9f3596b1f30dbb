#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make proofs: what the engine promises, proved of the very files that the kernel gets.
# CBMC proves wheel.c's assertions for every position and tick, with each ratio from 2 to
# 16 between levels; z3 proves that the engine's multiplication divides. faults.py breaks the
# engine; each proof has to fail then. Minutes. The last line is "N passed, N failed".
#
#   PROOFS="name ..."  only these; make proofs PROOFS=prove_bucket_in_reach
#
# CBMC is Debian's, of a newer suite than the machine's: it runs from a folder, with the
# C library that it wants.
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

here=$ROOT/tools/test/proofs
# Lists are much for a solver: a proof of those takes a minute or two, for few slots.
lists=(prove_bits_after_enqueue prove_bits_after_dequeue)

wanted=("$@")
mapfile -t proofs < <(sed -n 's/^void \(prove_[a-z_]*\)(void)$/\1/p' "$here/wheel.c")
refuse_unknown proof "$*" "${proofs[@]}" reciprocal

need gcc libc6-dev python3 z3
suite_tool sid cbmc cbmc minisat libc6 libstdc++6 libgcc-s1 libgmp10 zlib1g

# prove SOURCE PROOF SHIFT: the engine of that tree. Leaves what CBMC says in a log.
prove() {
	# shellcheck disable=SC2154 # suite_tool sets it
	prlimit --cpu="${TIMEOUT:-1800}" "${tool_command[@]}" \
		-I"$1/include" -DSLOTS_SHIFT="$3" \
		--function "$2" --unwind 66 --unwinding-assertions --slice-formula \
		--no-standard-checks "$1/tools/test/proofs/wheel.c" \
		> "$SCRATCH/log" 2>&1 || :
}

proved() {
	grep -q '^VERIFICATION SUCCESSFUL$' "$SCRATCH/log"
}

refuted() {
	grep -q '^VERIFICATION FAILED$' "$SCRATCH/log" &&
		! grep -q 'unwinding assertion.*: FAILURE' "$SCRATCH/log"
}

wants_proof() {
	[ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " = *" $1 "* ]]
}

# report STATUS WHAT SECONDS
report() {
	result "$1" "$2 ($3 s)" grep -m 5 -E ': FAILURE|rror' "$SCRATCH/log"
}

for proof in "${proofs[@]}"; do
	wants_proof "$proof" || continue
	shifts=(1 2 3 4)
	[[ " ${lists[*]} " != *" $proof "* ]] || shifts=(1)
	for shift in "${shifts[@]}"; do
		start=$SECONDS status=0
		prove "$ROOT" "$proof" "$shift"
		proved || status=1
		report $status "$proof, $((1 << shift)) slots" $((SECONDS - start))
	done
done

if wants_proof reciprocal; then
	start=$SECONDS status=0
	gcc -std=gnu11 -w -I"$ROOT/include" -o "$SCRATCH/reciprocal" "$here/reciprocal.c"
	python3 "$here/reciprocal.py" "$SCRATCH/reciprocal" > "$SCRATCH/log" 2>&1 ||
		status=$?
	report $status "reciprocal: $(tail -n 1 "$SCRATCH/log")" $((SECONDS - start))
fi

# A proof that no fault can make fail would prove nothing. Each has to find two of faults.py's,
# those of lists one.
for proof in "${proofs[@]}" reciprocal; do
	wants_proof "$proof" || continue
	wanted_faults=2 shift=2
	[[ " ${lists[*]} " != *" $proof "* ]] || wanted_faults=1 shift=1
	(cd "$ROOT" && python3 "$here/faults.py" "$proof" "$SCRATCH/faults-$proof")
	start=$SECONDS tried=0
	for tree in "$SCRATCH/faults-$proof"/*; do
		tried=$((tried + 1))
		if [ "$proof" != reciprocal ]; then
			prove "$tree" "$proof" "$shift"
			refuted || continue
		else
			gcc -std=gnu11 -w -I"$tree/include" -o "$SCRATCH/reciprocal" \
				"$tree/tools/test/proofs/reciprocal.c" 2> "$SCRATCH/log" || continue
			prlimit --cpu=20 python3 "$here/reciprocal.py" "$SCRATCH/reciprocal" \
				> "$SCRATCH/log" 2>&1 || :
			grep -q '^not proved' "$SCRATCH/log" || continue
		fi
		report 0 "broken: $(cat "$tree/what"), found by: $proof" $((SECONDS - start))
		wanted_faults=$((wanted_faults - 1)) start=$SECONDS
		[ "$wanted_faults" != 0 ] || break
	done
	[ "$wanted_faults" = 0 ] ||
		report 1 "broken: found by: $proof, $tried tried" $((SECONDS - start))
done
verdict
