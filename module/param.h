/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters of the module: numbers within a range. Other values are refused, by name. */
#ifndef _TWHEEL_PARAM_H
#define _TWHEEL_PARAM_H

#include <linux/moduleparam.h>

/**
 * struct tw_param - a parameter
 * @value: the variable. Read it with READ_ONCE(): it may be written at any time
 * @least: the smallest value that is taken
 * @most: the largest value that is taken
 * @ceiling: another parameter that it may not exceed, or NULL
 */
struct tw_param {
	unsigned long *value;
	unsigned long least;
	unsigned long most;
	const unsigned long *ceiling;
};

extern const struct kernel_param_ops tw_param_ops;

/* TW_PARAM() - make a variable, an unsigned long, a parameter */
#define TW_PARAM(name, lowest, highest, description)			\
	TW_PARAM_BELOW(name, lowest, highest, NULL, description)

#define TW_PARAM_BELOW(name, lowest, highest, below, description)	\
	static const struct tw_param name##_param = {			\
		.value	= &(name),					\
		.least	= (lowest),					\
		.most	= (highest),					\
		.ceiling = (below),					\
	};								\
	module_param_cb(name, &tw_param_ops, (void *)&name##_param, 0644); \
	__MODULE_PARM_TYPE(name, "ulong");				\
	MODULE_PARM_DESC(name, description)

#endif /* _TWHEEL_PARAM_H */
