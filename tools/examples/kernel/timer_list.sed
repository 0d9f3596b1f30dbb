# SPDX-License-Identifier: GPL-2.0-only
# sed -E -f timer_list.sed FILE: from struct timer_list to struct twheel_timer, on the
# system wheel. One file at a time: it is read as a whole. timer_list.sh also lists what is
# left to do by hand. Most of what it leaves does not compile.
:slurp
$!{
N
b slurp
}

# A socket's own timer stays what it is. Its callbacks get their type back by hand.
s/\b(\w+)(\([^()]*\bsk_timer\b)/\1@\2/g

# What has no time.
s/\bstruct timer_list\b/struct twheel_timer/g
s/\bDEFINE_TIMER\(/DEFINE_TWHEEL_TIMER(/g
s/\btimer_setup(|_on_stack)\(([^(),]*(\([^()]*\)[^(),]*)*),(\s*&?\w+),\s*0\)/twheel_timer_init\1(\2, NULL,\4)/g
s/\b(from_timer|timer_container_of)\((\w+),\s*(\w+),\s*([^(),]*)\)/container_of(\3, typeof(*\2), \4)/g
s/\b(destroy_timer_on_stack|timer_destroy_on_stack)\(/twheel_timer_destroy_on_stack(/g
s/\b(timer_delete|del_timer)\(/twheel_cancel(/g
s/\b(timer_delete_sync|del_timer_sync)\(/twheel_cancel_sync(/g
s/\b(timer_delete_sync_try|try_to_del_timer_sync)\(/twheel_try_cancel(/g
s/(\btwheel_try_cancel\([^;]*\)) == -1\b/\1 == -EBUSY/g
s/\btimer_pending\(/twheel_pending(/g
# Statements do not use the result: they get a mark. A cast ends with a parenthesis as well.
s/(([;{})]|\belse|\*\/|\bcase\b[^:?;]*:|\bdefault\s*:|\n *\w+:)\s*)(mod_timer|mod_timer_pending|timer_shutdown|timer_shutdown_sync)\(/\1\x02\3(/g
s/(([=(,!?:|&]|\breturn)\s*\([^()]*\)\s*)\x02/\1/g
# Elsewhere it may be -EBUSY or -EDEADLK, which is not "yes".
s/\x02timer_shutdown(|_sync)\(/twheel_shutdown\1(/g
s/\btimer_shutdown(|_sync)\((([^()]|\([^()]*\))*)\)/(twheel_shutdown\1(\2) > 0)/g
s/\bsk_stop_timer\(/sk_stop_twheel(/g

# "t.expires = e; add_timer(&t);" and "t->expires = e; add_timer(t);", or a constant assigned
# between them
s/([^][ \t\n(){};,&]+)\.expires\s*=\s*([^;]+);\s*([^;(){}=]*\w\s*=\s*\w+;\s*)?add_timer\(&\1\)/\3\x02mod_timer(\&\1, \2)/g
s/([^][ \t\n(){};,&]+)->expires\s*=\s*([^;]+);\s*([^;(){}=]*\w\s*=\s*\w+;\s*)?add_timer\(\1\)/\3\x02mod_timer(\1, \2)/g

# "f(t, @{in jiffies@})@;", with parentheses in parentheses in parentheses
s/\b(mod_timer|mod_timer_pending|sk_reset_timer)\(((\w+,\s*)?[^(),]*(\([^()]*\)[^(),]*)*,\s*)(([^()]|\(([^()]|\(([^()]|\([^()]*\))*\))*\))*)\)/\1(\2@{\5@})@;/g
# From now on: a delay. Else what is left until then. Either may be negative.
s/@\{(jiffies|now)@\}/0/g
s/@\{(jiffies|now)\s*\+\s*(([^@?|&<>=-]|->|<<|>>)*)@\}/jiffies64_to_nsecs(\2)/g
s/@\{(([^@?|&<>=-]|->|<<|>>)*)\s\+\s*jiffies@\}/jiffies64_to_nsecs(\1)/g
s/@\{(jiffies|now)\s*\+\s*(([^@?|&<>=]|->|<<|>>)*)@\}/jiffies64_to_nsecs(max_t(long, \2, 0))/g
s/@\{(([^@?|&<>=^-]|->|\s-\s)*)@\}/jiffies64_to_nsecs(max_t(long, \1 - jiffies, 0))/g
s/@\{([^@]*)@\}/jiffies64_to_nsecs(max_t(long, (\1) - jiffies, 0))/g
s/\b(jiffies64_to_nsecs\(|max_t\(long, )\(([^()]*)\)([),])/\1\2\3/g

# That variable goes where nothing else has used it: no line before the function's end has it.
s/\bnow\b/\x01/g
s/\n\tunsigned long \x01 = jiffies;((\n([^}\x01\n][^\x01\n]*)?)*\n\})/\1/g
s/\x01/now/g

# A caller that uses the result gets the same one.
s/\x02mod_timer\(([^@;]*)@;/twheel_arm(\1/g
s/\x02mod_timer_pending\(([^@;]*)@;/twheel_modify(\1/g
s/\x02//g
s/\(mod_timer\(([^@;]*)@;\)/(twheel_arm(\1 > 0)/g
s/\bmod_timer\(([^@;]*)@;/(twheel_arm(\1 > 0)/g
s/\bmod_timer_pending\(([^@;]*)@;/(twheel_modify(\1 > 0)/g
s/\bsk_reset_timer\(([^@;]*)@;/sk_reset_twheel(\1/g
s/\b(\w+)@\(/\1(/g

# The file that has a timer includes the header, and others include that file.
/\bstruct twheel_timer\s+\w|\bDEFINE_TWHEEL_TIMER\b/!b
s/<linux\/timer\.h>/<linux\/twheel.h>/
s/\nMODULE_LICENSE\([^\n]*/&\nTWHEEL_IMPORT();/
/<linux\/twheel\.h>/b
s/(^|\n)(#[ \t]*include\b)/\1#include <linux\/twheel.h>\n\2/
