/* SPDX-License-Identifier: GPL-2.0-only */
/* What people and tools see of the wheels of modules. */
#ifndef _TWHEEL_VIEW_H
#define _TWHEEL_VIEW_H

struct dentry;
struct twheel;

struct dentry *tw_view_add(struct twheel *wheel);
void tw_view_remove(struct dentry *view);
void tw_view_init(void);
void tw_view_exit(void);

#endif /* _TWHEEL_VIEW_H */
