// SPDX-License-Identifier: GPL-2.0-only
/*
 * Figures, as lines of the kernel log:
 *
 *	bench: DELAYS PEER OPERATION COUNT FIGURE
 *
 * FIGURE has two decimals. tools/bench/table.py reads it.
 */
#define pr_fmt(fmt) "bench: " fmt

#include <linux/math64.h>
#include <linux/printk.h>

#include "report.h"
#include "subject.h"

static bool report_muted;

/* report() - print that @operation costs @value / @divisor */
void report(const char *delays, const char *peer, const char *operation,
	    u64 value, u64 divisor)
{
	u64 hundredths = div64_u64(value * 100 + divisor / 2, divisor);
	u32 fraction;

	if (report_muted)
		return;
	hundredths = div_u64_rem(hundredths, 100, &fraction);
	pr_info("%s %s %s %u %llu.%02u\n", delays, peer, operation,
		nr_subjects, hundredths, fraction);
}

void report_rounds(void (*measure)(unsigned int round), unsigned int rounds, bool touch)
{
	unsigned int round;

	report_muted = true;
	if (touch)
		measure(0);
	report_muted = false;
	for (round = 0; round < rounds; round++)
		measure(round);
}
