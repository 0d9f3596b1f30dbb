/* SPDX-License-Identifier: GPL-2.0-only */
/* Plays bytes as operations on an engine; an oracle checks each of them. */
#ifndef TWHEEL_ENGINE_PLAYER_H
#define TWHEEL_ENGINE_PLAYER_H

#include "kunit.h"

/* The upper bits of the second byte, for a wheel that asks about its timers. */
#define PLAYER_LOOKS	5

/* Play @size bytes. Returns the number of operations; sets test->failed on an error. */
unsigned int player_run(struct kunit *test, const uint8_t *bytes, size_t size);

#endif /* TWHEEL_ENGINE_PLAYER_H */
