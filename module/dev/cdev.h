/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _TWHEEL_CDEV_H
#define _TWHEEL_CDEV_H

int tw_cdev_init(void);
void tw_cdev_exit(void);

#endif /* _TWHEEL_CDEV_H */
