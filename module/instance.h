/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels that other modules make. */
#ifndef _TWHEEL_INSTANCE_H
#define _TWHEEL_INSTANCE_H

void tw_instances_exit(void);

#endif /* _TWHEEL_INSTANCE_H */
