/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON on standard output, with the commas where they belong. */
#ifndef TWHEEL_JSON_H
#define TWHEEL_JSON_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Begin an object or an array, and end it, by its bracket. In an array and outermost, keys
 * are NULL. The end of the outermost one ends the line.
 */
void json_begin(const char *key, char bracket);
void json_end(char bracket);

void json_number(const char *key, uint64_t value);
void json_numbers(const char *key, const uint64_t *values, unsigned int count);
void json_flag(const char *key, bool value);
/* The text has neither quotation marks nor backslashes, and is printable. */
void json_text(const char *key, const char *value);

#endif
