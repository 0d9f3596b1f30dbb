/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SESSIONS_H
#define _SESSIONS_H

/**
 * struct outcome - what has become of the sessions
 * @fired: callbacks called
 * @armed: arms of a timer that was not pending
 * @moved: arms of a timer that was pending
 * @deleted: sessions whose timer was pending when it was deleted
 * @pending: sessions whose timer is pending after the end
 */
struct outcome {
	unsigned int fired;
	unsigned int armed;
	unsigned int moved;
	unsigned int deleted;
	unsigned int pending;
};

/* Each compiled from sessions.c: as it is, and as Kbuild makes it. */
int sessions_on_timer_list(struct outcome *outcome);
int sessions_on_twheel(struct outcome *outcome);
int sessions_on_trial(struct outcome *outcome);

#endif /* _SESSIONS_H */
