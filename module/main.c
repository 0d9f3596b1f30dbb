// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module: its parts start in this order, and end in the reverse order.
 */
#include <linux/module.h>

#include "core/base.h"
#include "dev/act.h"
#include "dev/file.h"
#include "export.h"

static int __init twheel_init(void)
{
	int ret;

	tw_view_init();
	ret = tw_instances_init();
	if (ret)
		goto err_exit_view;
	ret = tw_act_init();
	if (ret)
		goto err_exit_instances;
	ret = tw_device_init();
	if (ret)
		goto err_exit_act;
	return 0;

err_exit_act:
	tw_act_exit();
err_exit_instances:
	tw_instances_exit();
err_exit_view:
	tw_view_exit();
	return ret;
}

/* Early, so that built into a kernel it is there before the drivers that use it. */
subsys_initcall(twheel_init);

static void __exit twheel_exit(void)
{
	tw_device_exit();
	tw_act_exit();
	tw_instances_exit();
	tw_view_exit();
}
module_exit(twheel_exit);

MODULE_DESCRIPTION("Cascading hashed timing wheel for very many timeouts");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0.0");
/* They are one module, but what is exported in a namespace has to be imported. */
TW_IMPORT(TWHEEL);
