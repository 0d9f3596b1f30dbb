// SPDX-License-Identifier: GPL-2.0-only
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "param.h"

static int param_set(const char *text, const struct kernel_param *kp)
{
	const struct tw_param *param = kp->arg;
	unsigned long most = param->most;
	unsigned long value;

	if (param->ceiling)
		most = min(most, READ_ONCE(*param->ceiling));
	if (kstrtoul(text, 0, &value) || value < param->least ||
	    value > most) {
		/* The text may end with a newline. */
		pr_err("parameter %s: '%.*s' is not a number from %lu to %lu; it stays %lu\n",
		       kp->name, (int)strcspn(text, "\n"), text, param->least,
		       most, READ_ONCE(*param->value));
		return -EINVAL;
	}
	WRITE_ONCE(*param->value, value);
	return 0;
}

static int param_get(char *buffer, const struct kernel_param *kp)
{
	const struct tw_param *param = kp->arg;

	return sysfs_emit(buffer, "%lu\n", READ_ONCE(*param->value));
}

const struct kernel_param_ops tw_param_ops = {
	.set	= param_set,
	.get	= param_get,
};
