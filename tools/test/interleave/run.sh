#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What other CPUs can do in the middle of a call, explored in a program. The module's core,
# engine and API are compiled as they are, over a stub of the kernel, under sanitizers. Each
# line is a scene, or a fault that it has found in the module with faults.py's. The last line is
# "N passed, N failed".
#
# Argument: the name of a scene, to explore only that.
#
#   TRIPLES=N	how many triples of calls a scene tries, with 200 schedules each (60)
#   TREE=path	explore the module of another tree
# shellcheck disable=SC2094 # patient looks at the size of a log only
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=../simulation/build.sh
. "$ROOT/tools/test/simulation/build.sh"

here=$ROOT/tools/test/interleave
triples=${TRIPLES:-60}
[[ $triples =~ ^[0-9]+$ ]] || die "TRIPLES=$triples is no number" "TRIPLES=1000, say"
mapfile -t names < <(sed -n 's/^\t{ "\([^"]*\)",.*/\1/p' "$here"/scenes*.c)
refuse_unknown scene "$*" "${names[@]}"
need gcc libc6-dev python3

# Small: each run frees a wheel, and what was freed long ago is not used again.
export ASAN_OPTIONS=quarantine_size_mb=4:malloc_context_size=4:detect_leaks=0
flags+=(-O1 -g -I"$here")
plain=("${flags[@]}")
flags+=("${sanitizers[@]}")

# build TREE OBJECTS FILE...: those files, and the program of all objects
build() {
	compile "$@" &&
		gcc "${sanitizers[@]}" "$wrap" -o "$2/explore" "$2"/*.o
} > "$SCRATCH/build" 2>&1

# explore OBJECTS SCENE TRIPLES: leaves what it says in a log
explore() {
	local log=$1/${2//[, ]/-}.log status=0

	patient "$log" prlimit --cpu=120:130 "$1/explore" "$2" "$3" > "$log" 2>&1 || status=$?
	echo $status > "$log.status"
}

# report STATUS LINE LOG
report() {
	result "$1" "$2" said "$3"
}
said() {
	grep -v "support makecontext" "$1" | cut -c 1-300 | head -n 40
}

say "what other CPUs can do in the middle of a call: compiling core, engine and API"
make_headers
mkdir -p "$SCRATCH/objects"
build "$tree" "$SCRATCH/objects" "${module[@]}" "${stub[@]}" "$here"/*.c ||
	{ head -n 20 "$SCRATCH/build"; die "it does not compile" "see above"; }
mapfile -t scenes < <("$SCRATCH/objects/explore")
[ $# = 0 ] || scenes=("$1")
say "exploring ${#scenes[@]} scenes: each pair of calls at all points, and $triples triples"
for scene in "${scenes[@]}"; do
	beside explore "$SCRATCH/objects" "$scene" "$triples"
done
wait
for scene in "${scenes[@]}"; do
	log=$SCRATCH/objects/${scene//[, ]/-}.log
	counts=$(sed -n 's/^\(not \)\{0,1\}ok .*: //p' "$log")
	report "$(cat "$log.status" || echo 1)" "$scene: ${counts:-no result}" "$log"
done

# An explorer that finds no fault would prove nothing. Without sanitizers, many can be tried.
if [ $# = 0 ]; then
	say "planting faults"
	mkdir -p "$SCRATCH/broken/objects"
	cp -r "$tree/module" "$tree/include" "$tree/kunit" "$SCRATCH/broken/"
	python3 "$here/faults.py" weave "$SCRATCH/broken"
	flags=("${plain[@]}" -w) sanitizers=()
	build "$SCRATCH/broken" "$SCRATCH/broken" "${module[@]/#"$tree"/"$SCRATCH/broken"}" \
		"${stub[@]}" "$here"/*.c || { head -n 20 "$SCRATCH/build"; die "it does not compile"; }
	planted=0
	while read -r status what; do
		planted=$((planted + 1))
		result "$status" "broken: $what"
	done < <(python3 "$here/faults.py" find "$SCRATCH/broken")
	[ "$planted" = ${#scenes[@]} ] || result 1 "each scene finds a fault"
fi
verdict
