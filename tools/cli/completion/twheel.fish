# SPDX-License-Identifier: GPL-2.0-only
# Completion of the command twheel, for fish. The words are those of its own help.

# Only these are followed by a command, whose arguments may be files.
complete -c twheel -n 'not __fish_seen_subcommand_from after at guard' -f
complete -c twheel -n __fish_use_subcommand -a \
	"(twheel --help | string replace -rf '^  ([a-z]+) +(.*)' '\$1\\t\$2')"
complete -c twheel -n __fish_use_subcommand -l version -d 'print the version'
complete -c twheel -s h -l help -d 'print what there is'
complete -c twheel -n 'not __fish_use_subcommand' -a \
	"(twheel (commandline -opc)[2] --help |
	string replace -rf '^  (?:-., )?(--[a-z-]+)(?: [A-Z,]+)? +(.*)' '\$1\\t\$2')"
complete -c twheel -n '__fish_seen_subcommand_from after every guard load' -l clock \
	-xa 'monotonic boottime realtime tai'
