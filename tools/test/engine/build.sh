# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# How the engine is built as a program. Read lib.sh first. SOURCE= is where module, kunit
# and include are. Sets
#   here		this folder
#   engine, common, suites	the source files
#   flags, sanitizers		what they are compiled with
#   wrap			what run.c is linked with: it makes allocations fail
# Seen as a single file, this does not show it.
# shellcheck disable=SC2034,SC2154

source=${SOURCE:-$ROOT}
here=$ROOT/tools/test/engine
engine=("$source"/module/engine/{wheel,shape}.c)
common=("$source/kunit/rig.c" "$here/scenario.c" "$here/player.c")
suites=("$source"/kunit/{shape,engine,round,cost,look}_test.c)

flags=(-std=gnu11 -g -Wall -Wextra -Wno-sign-compare -I"$source/include"
	-iquote "$source/module/engine" -iquote "$source/kunit" -iquote "$here")
sanitizers=(-fsanitize=address -fsanitize=undefined
	-fno-sanitize-recover=undefined)
wrap=-Wl,--wrap=calloc
