/* SPDX-License-Identifier: GPL-2.0-only */
/* Retries. */
#ifndef _TWHEEL_API_RETRY_H
#define _TWHEEL_API_RETRY_H

void tw_retry_seed(void);

#endif /* _TWHEEL_API_RETRY_H */
