#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# in.sh podman|docker TARGET: make TARGET in a container of Debian 12, on any Linux. The tree is
# mounted there under its own path, and the kernels that are built stay in its .cache. What
# `make TARGET` takes from the environment is handed on. KVM is used where /dev/kvm is.
#   IMAGE=name  another image, with Debian's apt-get in it
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || die "usage: in.sh podman|docker TARGET"
engine=$1 target=$2
command -v "$engine" > /dev/null ||
	die "there is no command $engine" "install it, or make $target without IN= on Debian 12"
mkdir -p "$CACHE"
options=(--rm --volume "$ROOT:$ROOT" --volume "$CACHE:$CACHE" --workdir "$ROOT")
[ ! -w /dev/kvm ] || options+=(--device /dev/kvm)
for name in TESTS CHECKS KERNELS MINUTES KEEP SEED TIME; do
	[ -z "${!name:-}" ] || options+=(--env "$name=${!name}")
done
# Root in a container of docker's is root of the machine: it gives back what it has made.
read -r owner < <(stat -c %u:%g "$ROOT")
[ "$engine" != podman ] || [ "$(id -u)" = 0 ] || owner=0:0

say "make $target in a container: $engine ${IMAGE:-docker.io/library/debian:12}"
# shellcheck disable=SC2016 # the container's shell expands it
exec "$engine" run "${options[@]}" --env TWHEEL_CACHE="$CACHE" --env OWNER="$owner" \
	"${IMAGE:-docker.io/library/debian:12}" sh -c '
	trap "chown -R $OWNER $TWHEEL_CACHE" EXIT
	export DEBIAN_FRONTEND=noninteractive
	{ apt-get -q update && apt-get -qy install --no-install-recommends ca-certificates git make; } \
		> /tmp/apt.log 2>&1 || { tail /tmp/apt.log; exit 1; }
	git config --global --add safe.directory "$PWD"
	make --no-print-directory '"$target"
