/* SPDX-License-Identifier: GPL-2.0-only */
/* Periodic work, retries and idle watches, for the rest of the module. */
#ifndef _TWHEEL_API_POLICY_H
#define _TWHEEL_API_POLICY_H

void tw_policy_seed(void);

#endif /* _TWHEEL_API_POLICY_H */
