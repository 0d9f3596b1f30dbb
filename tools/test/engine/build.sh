# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# How the engine is built as a program. Read lib.sh first. Sets
#   here		this folder
#   engine, common, suites	the source files
#   flags, sanitizers		what they are compiled with
#   wrap			what run.c is linked with: it makes allocations fail
# Seen as a single file, this does not show it.
# shellcheck disable=SC2034,SC2154

here=$ROOT/tools/test/engine
engine=("$ROOT"/module/engine/*.c)
common=("$here/rig.c" "$here/scenario.c" "$here/player.c"
	"$ROOT/tools/test/library/kunit.c")
suites=("$here"/{shape,engine,round,cost,look}_test.c)

flags=(-std=gnu11 -g -DTWHEEL_CHECK -Wall -Wextra -Wno-sign-compare -fno-strict-aliasing -I"$ROOT/include"
	-iquote "$ROOT/module/engine" -iquote "$ROOT/kunit" -iquote "$here"
	-iquote "$ROOT/tools/test/library")
sanitizers=(-fsanitize=address -fsanitize=undefined
	-fno-sanitize-recover=undefined)
wrap=-Wl,--wrap=calloc
