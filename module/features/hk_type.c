// SPDX-License-Identifier: GPL-2.0-only
/* 5.18: what CPUs are kept from is a type, and no flag. */
#include <linux/sched/isolation.h>

static inline bool tw_feature(int cpu)
{
	return housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
}
