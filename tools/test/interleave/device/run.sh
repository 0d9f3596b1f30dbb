#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make interleave, second half: in which order tasks and the alarm of a device file can go on,
# explored in a program. The device and the engine are compiled as they are, over a stub of the
# kernel, under sanitizers. Each line is a scene, or a fault of the file "broken" that its scene
# has to find. The last line is "N passed, N failed".
#
# Arguments: the name of a scene, to explore only that. With the operations and steps that a fault
# names, that run only, which then says who goes on.
#
#   DELAYS=N	up to so many delays (2)
#   TREE=path	explore the module of another tree
# shellcheck source=../../vm/lib.sh
. "$(dirname "$0")/../../vm/lib.sh"
# shellcheck source=../../simulation/build.sh
. "$ROOT/tools/test/simulation/build.sh"

here=$ROOT/tools/test/interleave/device
# What finds the planted faults must find none in the module as it is.
enough=2
delays=${DELAYS:-$enough}
[[ $delays =~ ^[0-9]$ ]] || die "DELAYS=$delays is no number" "DELAYS=3, say"
mapfile -t scenes < <(sed -n 's/^\t{ "\(device, [^"]*\)",.*/\1/p' "$here"/*.c)
refuse_unknown scene "${1:-}" "${scenes[@]}"
need gcc libc6-dev python3

export ASAN_OPTIONS=quarantine_size_mb=4:malloc_context_size=4:detect_leaks=0
export UBSAN_OPTIONS=halt_on_error=1
flags+=(-O1 -g "${sanitizers[@]}" -I"$here")
# Who pays has no part in this.
parts() {
	printf '%s\n' "$1"/module/{clock,dev/*}.c | grep -v '/user\.c$'
}

# build TREE OBJECTS FILE...: those files, and the program of all objects. What the compiler says is
# in OBJECTS/build.
build() {
	local flags=("${flags[@]/stub.h/stub_device.h}")

	compile "$@" &&
		gcc "${sanitizers[@]}" "$wrap" -o "$2/explore" "$2"/*.o
} > "$2/build" 2>&1

# explore OBJECTS SCENE ARGUMENT...: leaves what it says in a log
explore() {
	prlimit --cpu=600 "$1/explore" "${@:2}" > "$1/${2//[, ]/-}.log" 2>&1
}

said() {
	grep -v -e "ASan" -e "False positive" -e "For details see" "$1" | cut -c 1-300 | head -n 40
}

say "in which order tasks and alarms can go on: compiling the device"
make_headers
objects=$SCRATCH/objects
mkdir -p "$objects"
mapfile -t device < <(parts "$tree")
{ compile "$tree" "$objects" "${stub[@]}" > "$objects/build" 2>&1 &&
	build "$tree" "$objects" "${device[@]}" "$tree"/module/engine/*.c \
		"$core/stub_device.c" "$here"/*.c; } ||
	{ grep -n "error\|undefined\|implicit" "$objects/build" | head -n 20; die "it does not compile" "see above"; }
if [ $# -gt 1 ]; then
	"$objects/explore" "$@" 2> >(grep -v -e ASan -e "False positive" -e "For details see" >&2)
	exit
elif [ $# = 1 ]; then
	scenes=("$1")
fi
say "exploring ${#scenes[@]} scenes: up to $delays delays at each step"
export -f explore
printf '%s\0' "${scenes[@]}" | OBJECTS=$objects DELAYS=$delays \
	xargs -0 -P "$(nproc)" -I SCENE bash -c 'explore "$OBJECTS" "$0" "$DELAYS" ||
		touch "$OBJECTS/${0//[, ]/-}.failed"' SCENE
for scene in "${scenes[@]}"; do
	log=$objects/${scene//[, ]/-}.log status=0
	[ ! -e "${log%.log}.failed" ] || status=1
	counts=$(sed -n 's/^\(not \)\{0,1\}ok .*: //p' "$log")
	result "$status" "$scene: ${counts:-it was ended}" said "$log"
done

# plant NAME SCENE FILE CHANGE: explore the module with that fault, in a tree of its own. There is a
# file "found" if the explorer finds it.
plant() {
	local scene=$2 file=$3 broken=$SCRATCH/broken/$1 log

	log=$broken/objects/${scene//[, ]/-}.log
	mkdir -p "$broken"
	cp -r "$tree/module" "$tree/include" "$objects" "$broken/"
	# shellcheck disable=SC2086 # several words
	if ! "$here/plant.py" "$broken/$file" $4 > "$log" 2>&1 ||
			! build "$broken" "$broken/objects" "$broken/$file"; then
		cat "$broken/objects/build" >> "$log"
	elif ! explore "$broken/objects" "$scene" $enough && grep -q '^  again: ' "$log"; then
		touch "$broken/found"
	fi
	mv "$log" "$broken/log"
	rm -rf "$broken/objects"
}

# An explorer that finds no fault would prove nothing.
[ $# != 0 ] || say "planting faults"
mapfile -t faults < <([ $# != 0 ] || grep -v '^#' "$here/broken")
for fault in "${faults[@]}"; do
	IFS=$'\t' read -ra words <<< "$fault"
	beside plant "${words[@]}"
done
wait
for fault in "${faults[@]}"; do
	IFS=$'\t' read -r name scene _ <<< "$fault"
	log=$SCRATCH/broken/$name/log status=0
	[ -e "$SCRATCH/broken/$name/found" ] || status=1
	how=$(sed -n 's/^    \(.*\)/\1/p' "$log" | head -n 1)
	result $status "broken: $name, found by: $scene: $how" said "$log"
done
verdict
