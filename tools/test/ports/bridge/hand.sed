# SPDX-License-Identifier: GPL-2.0-only
s/\nMODULE_LICENSE[^\n]*\nMODULE_VERSION/\nTWHEEL_IMPORT();&/
s/#include <linux\/twheel.h>/&\n#include "twheel_port.h"/
# Included by its path in the kernel's tree
s/"..\/..\/..\/net\/bridge\/br_private.h"/"br_private.h"/
s/(\w+->(rexmit_)?timer)\.expires\b/twheel_expires(\&\1)/g
s/\btimer->expires\b/twheel_expires(timer)/g
# One function tells what is left of timers, and of delayed work, whose timer stays what it is.
s/\bbr_timer_value\(&br->gc_work\.timer\)/br_work_value(\&br->gc_work)/g
s/\nunsigned long br_timer_value\([^)]*\);/&\nunsigned long br_work_value(const struct delayed_work *work);/
s/\nunsigned long br_timer_value\([^)]*\)\n\{[^}]*\}\n/&\nunsigned long br_work_value(const struct delayed_work *work)\n{\n\treturn timer_pending(\&work->timer)\n\t\t? jiffies_delta_to_clock_t(work->timer.expires - jiffies) : 0;\n}\n/
