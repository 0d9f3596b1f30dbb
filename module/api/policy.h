/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _TWHEEL_API_POLICY_H
#define _TWHEEL_API_POLICY_H

void tw_policy_init(void);

#endif /* _TWHEEL_API_POLICY_H */
