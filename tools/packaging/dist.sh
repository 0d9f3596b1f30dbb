#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make dist: twheel-VERSION.tar.gz, of the last commit. git archive sorts the files, takes
# their time from the commit, and gives them to root. gzip adds no time. The same git and gzip
# give the same bytes. OUT= is the folder for it.
# CHECK=1: make it twice, and compare. The second time is from another folder, with another
# umask and another time zone. Then unpack it, and see that it has the files of the commit.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=$(git show HEAD:Makefile | sed -n 's/^VERSION := //p')
name=twheel-$version
out=${OUT:-.}/$name.tar.gz

archive() {
	git -c tar.umask=0002 archive --format=tar --prefix="$name/" HEAD | gzip -9n
}

[ -z "$(git status --porcelain)" ] ||
	echo "twheel: what is not committed is not in it" >&2
if ! released=$(git rev-parse -q --verify "v$version^{commit}"); then
	echo "twheel: there is no tag v$version yet: this is that version if this commit gets it" >&2
elif [ "$released" != "$(git rev-parse HEAD)" ]; then
	echo "twheel: v$version is another commit, whose tarball has other bytes" >&2
fi
archive > "$out.part"
mv "$out.part" "$out"
sha256sum "$out"
[ "${CHECK:-}" = 1 ] || exit 0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone -q . "$scratch/clone"
(cd "$scratch/clone" && umask 077 && TZ=Asia/Tokyo archive) > "$scratch/again"
cmp "$out" "$scratch/again"
tar -xf "$out" -C "$scratch"
diff <(git ls-tree -r --name-only HEAD | sort) \
	<(cd "$scratch/$name" && find . -type f -o -type l | sed 's|^\./||' | sort)
echo "twheel: made twice, the same; all files are there" >&2
