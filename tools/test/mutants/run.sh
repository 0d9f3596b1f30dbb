#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make mutants: change engine, core and API in one place at a time, and see whether the
# tests notice it. Arguments: files of module/engine, core and api, to change only
# those. EVERY=N takes only every Nth mutant, SAMPLE=N so many at random, by SEED=N. A
# larger sample of a seed has all of a smaller one.
#
# Each half prints what survives, a table, and the last line "N found, N survive". A run of all
# mutants of all files fails if less is found than FLOOR says, in engine.sh and core.sh. The log
# is in the cache: another run goes on from there, except for files that have changed. Of these it
# says which survivors are new. AGAIN=1 also tries what has survived.
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
cd "$ROOT"
refuse_unknown "file of module/engine, core or api" "$*" module/{engine,core,api}/*.[ch]

engine=() core=() status=0
for file; do
	case $file in
	module/engine/*.[ch]) engine+=("$file") ;;
	module/core/*.[ch] | module/api/*.[ch]) core+=("$file") ;;
	esac
done
if [ $# = 0 ] || [ ${#engine[@]} != 0 ]; then
	tools/test/mutants/engine.sh "${engine[@]}" || status=1
fi
if [ $# = 0 ] || [ ${#core[@]} != 0 ]; then
	tools/test/mutants/core.sh "${core[@]}" || status=1
fi
exit "$status"
