// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "program.h"

#define OP_ARGS {							\
	{ "fd", ARG_FILE }, { "timer", ARG_TIMER }, { "deadline", ARG_TIME }, \
	{ "flags", ARG_OP_FLAGS }, { "period", ARG_PERIOD },		\
	{ "slack", ARG_SLACK }, { "cookie", ARG_VALUE }, { "now", ARG_NOW }, \
	{ "twist", ARG_TWIST }, { "op", ARG_ZERO },			\
	{ "reserved", ARG_ZERO }, { "size", ARG_SIZE }, { "place", ARG_PLACE }, \
	{ "result", ARG_ZERO } }

#define BATCH_ARGS {							\
	{ "fd", ARG_FILE }, { "count", ARG_COUNT }, { "mix", ARG_VALUE }, \
	{ "flags", ARG_ZERO }, { "done", ARG_ZERO }, { "reserved", ARG_ZERO }, \
	{ "stride", ARG_SIZE }, { "ops", ARG_PLACE }, { "size", ARG_SIZE }, \
	{ "place", ARG_PLACE }, { "word", ARG_ZERO } }

const struct call_type call_types[NR_CALLS] = {
	[CALL_NONE] = { "none", 0, { } },
	[CALL_OPEN] = { "open", 30, { { "fd", ARG_FILE }, { "block", ARG_CHOICE } } },
	[CALL_CLOSE] = { "close", 20, { { "fd", ARG_FILE } } },
	[CALL_DUP] = { "dup", 8, { { "fd", ARG_FILE }, { "to", ARG_FILE } } },
	[CALL_SETUP] = { "setup", 40, {
		{ "fd", ARG_FILE }, { "clock", ARG_CLOCK },
		{ "flags", ARG_SETUP_FLAGS }, { "tick", ARG_TICK },
		{ "slots", ARG_SLOTS }, { "max", ARG_MAX_TIMERS },
		{ "event", ARG_EVENT_SIZE }, { "reserved", ARG_ZERO },
		{ "size", ARG_SIZE }, { "place", ARG_PLACE } } },
	[CALL_ARM] = { "arm", 120, OP_ARGS },
	[CALL_CANCEL] = { "cancel", 40, OP_ARGS },
	[CALL_MODIFY] = { "modify", 50, OP_ARGS },
	[CALL_QUERY] = { "query", 30, OP_ARGS },
	[CALL_KICK] = { "kick", 20, OP_ARGS },
	[CALL_CANCEL_ALL] = { "cancel_all", 8, {
		{ "fd", ARG_FILE }, { "flags", ARG_ZERO }, { "pad", ARG_ZERO },
		{ "reserved", ARG_ZERO } } },
	[CALL_INFO] = { "info", 10, {
		{ "fd", ARG_FILE }, { "size", ARG_SIZE }, { "place", ARG_PLACE } } },
	[CALL_STATS] = { "stats", 8, {
		{ "fd", ARG_FILE }, { "size", ARG_SIZE }, { "place", ARG_PLACE } } },
	[CALL_MANY] = { "many", 40, {
		{ "fd", ARG_FILE }, { "arms", ARG_CHOICE }, { "count", ARG_COUNT },
		{ "mix", ARG_VALUE }, { "flags", ARG_ZERO }, { "reserved", ARG_ZERO },
		{ "elements", ARG_PLACE }, { "results", ARG_PLACE } } },
	[CALL_BATCH] = { "batch", 50, BATCH_ARGS },
	[CALL_URING_BATCH] = { "uring_batch", 6, BATCH_ARGS },
	[CALL_URING_READ] = { "uring_read", 3, {
		{ "fd", ARG_FILE }, { "bytes", ARG_BYTES },
		{ "place", ARG_PLACE } } },
	[CALL_URING_POLL] = { "uring_poll", 3, {
		{ "fd", ARG_FILE }, { "multi", ARG_CHOICE } } },
	[CALL_READ] = { "read", 60, {
		{ "fd", ARG_FILE }, { "bytes", ARG_BYTES },
		{ "place", ARG_PLACE } } },
	[CALL_READV] = { "readv", 12, {
		{ "fd", ARG_FILE }, { "count", ARG_CHOICE }, { "bytes", ARG_BYTES },
		{ "place", ARG_PLACE } } },
	[CALL_POLL] = { "poll", 6, { { "fd", ARG_FILE }, { "ms", ARG_CHOICE } } },
	[CALL_EPOLL_ADD] = { "epoll_add", 8, {
		{ "fd", ARG_FILE }, { "flags", ARG_CHOICE } } },
	[CALL_EPOLL_WAIT] = { "epoll_wait", 5, { { "ms", ARG_CHOICE } } },
	[CALL_EPOLL_DEL] = { "epoll_del", 4, { { "fd", ARG_FILE } } },
	[CALL_FCNTL] = { "fcntl", 10, { { "fd", ARG_FILE }, { "what", ARG_CHOICE } } },
	[CALL_OTHER] = { "other", 8, { { "fd", ARG_FILE }, { "what", ARG_CHOICE } } },
	[CALL_IOCTL] = { "ioctl", 8, {
		{ "fd", ARG_FILE }, { "command", ARG_VALUE },
		{ "place", ARG_PLACE } } },
	[CALL_FDINFO] = { "fdinfo", 4, { { "fd", ARG_FILE } } },
	[CALL_MMAP] = { "mmap", 40, {
		{ "fd", ARG_FILE }, { "map", ARG_MAPPING }, { "pages", ARG_PAGES },
		{ "offset", ARG_PAGE }, { "prot", ARG_CHOICE },
		{ "private", ARG_ZERO } } },
	[CALL_MUNMAP] = { "munmap", 8, {
		{ "map", ARG_MAPPING }, { "page", ARG_PAGE },
		{ "pages", ARG_PAGES } } },
	[CALL_MREMAP] = { "mremap", 6, {
		{ "map", ARG_MAPPING }, { "pages", ARG_PAGES },
		{ "move", ARG_CHOICE } } },
	[CALL_MPROTECT] = { "mprotect", 6, {
		{ "map", ARG_MAPPING }, { "prot", ARG_CHOICE } } },
	[CALL_MADVISE] = { "madvise", 6, {
		{ "map", ARG_MAPPING }, { "advice", ARG_CHOICE } } },
	[CALL_SCRIBBLE] = { "scribble", 40, {
		{ "map", ARG_MAPPING }, { "where", ARG_CHOICE },
		{ "index", ARG_PAGE }, { "value", ARG_VALUE },
		{ "how", ARG_CHOICE }, { "times", ARG_CHOICE } } },
	[CALL_EXTEND] = { "extend", 40, {
		{ "map", ARG_MAPPING }, { "timer", ARG_TIMER },
		{ "deadline", ARG_TIME }, { "cancel", ARG_CHOICE } } },
	[CALL_SUBMIT] = { "submit", 60, {
		{ "map", ARG_MAPPING }, { "cell", ARG_PAGE },
		{ "deadline", ARG_TIME }, { "how", ARG_CHOICE },
		{ "timer", ARG_TIMER } } },
	[CALL_TAKE] = { "take", 30, { { "map", ARG_MAPPING } } },
	[CALL_SLEEP] = { "sleep", 50, { { "ns", ARG_SPAN } } },
	[CALL_DRAIN] = { "drain", 10, { { "fd", ARG_FILE } } },
	[CALL_SEND] = { "send", 6, { { "fd", ARG_FILE } } },
	[CALL_RECEIVE] = { "receive", 6, { { "fd", ARG_FILE } } },
	[CALL_FORK] = { "fork", 2, { { "calls", ARG_CHOICE }, { "wait", ARG_CHOICE } } },
};

/* Returns an error message, or NULL. */
static const char *call_parse_arg(struct call *call, const char *word)
{
	const struct call_type *type = &call_types[call->code];
	const char *value = strchr(word, '=');
	unsigned int i;
	char *end;

	if (!value)
		return "an argument without a value";
	for (i = 0; i < MAX_ARGS && type->arg[i].name; i++) {
		if (strncmp(word, type->arg[i].name, value - word) ||
		    type->arg[i].name[value - word])
			continue;
		errno = 0;
		call->arg[i] = strtoull(value + 1, &end, 0);
		return *end || end == value + 1 || errno ? "not a number" : NULL;
	}
	return "the call has no such argument";
}

static const char *program_parse_line(struct program *program, char *line)
{
	struct call *call = &program->call[program->count];
	char *save, *word = strtok_r(line, " \t\r", &save);
	const char *wrong = NULL;

	if (!word || *word == '#')
		return NULL;
	if (program->count == MAX_CALLS)
		return "too many calls";
	*call = (struct call) { };
	if (word[0] >= '0' && word[0] < '0' + MAX_THREADS && word[1] == ':') {
		call->thread = word[0] - '0';
		word = strtok_r(NULL, " \t\r", &save);
	}
	for (call->code = 1; call->code < NR_CALLS; call->code++)
		if (word && !strcmp(word, call_types[call->code].name))
			break;
	if (call->code == NR_CALLS)
		return "there is no such call";
	while (!wrong && (word = strtok_r(NULL, " \t\r", &save)))
		wrong = call_parse_arg(call, word);
	program->count++;
	return wrong;
}

bool program_parse(struct program *program, const char *text, char *wrong,
		   size_t size)
{
	char *copy = strdup(text), *save, *line;
	const char *why = NULL;

	program->count = 0;
	for (line = strtok_r(copy, "\n", &save); line && !why;
	     line = strtok_r(NULL, "\n", &save)) {
		char first[64];

		snprintf(first, sizeof(first), "%s", line);
		why = program_parse_line(program, line);
		if (why)
			snprintf(wrong, size, "%s: %s", first, why);
	}
	free(copy);
	return !why;
}

/* Does it read better as a decimal number? */
static bool value_is_decimal(uint64_t value)
{
	return (int64_t)value > -100000 && (int64_t)value < 100000000000LL;
}

size_t program_print(const struct program *program, char *text)
{
	size_t n = 0;
	uint32_t i, a;

	for (i = 0; i < program->count; i++) {
		const struct call *call = &program->call[i];
		const struct call_type *type = &call_types[call->code];

		if (call->thread)
			n += sprintf(text + n, "%u: ", call->thread);
		n += sprintf(text + n, "%s", type->name);
		for (a = 0; a < MAX_ARGS && type->arg[a].name; a++) {
			uint64_t value = call->arg[a];

			if (!value)
				continue;
			n += sprintf(text + n, value_is_decimal(value) ? " %s=%lld" :
				     " %s=0x%llx", type->arg[a].name,
				     (unsigned long long)value);
		}
		n += sprintf(text + n, "\n");
	}
	return n;
}

bool program_has(const struct program *program, enum call_code code)
{
	uint32_t i;

	for (i = 0; i < program->count; i++)
		if (program->call[i].code == code)
			return true;
	return false;
}

bool program_is_single(const struct program *program)
{
	uint32_t i;

	for (i = 0; i < program->count; i++)
		if (program->call[i].thread)
			return false;
	return !program_has(program, CALL_FORK);
}

/* How a submission breaks the rules, if it does: see call_mapping.c. */
static bool call_is_lawful(const struct call *call)
{
	const struct call_type *type = &call_types[call->code];
	unsigned int i;

	if (call->code == CALL_SCRIBBLE || call->code == CALL_MADVISE ||
	    call->code == CALL_MUNMAP || call->code == CALL_MPROTECT ||
	    (call->code == CALL_SUBMIT && call->arg[SUBMIT_HOW] % 8 > SUBMIT_LAWFUL))
		return false;
	/* What the kernel writes to a structure may be in the mapping. */
	for (i = 0; i < MAX_ARGS && type->arg[i].name; i++)
		if (type->arg[i].kind == ARG_PLACE &&
		    call->arg[i] % NR_PLACES == PLACE_MAPPING)
			return false;
	return true;
}

bool program_is_lawful(const struct program *program)
{
	uint32_t i;

	for (i = 0; i < program->count; i++)
		if (!call_is_lawful(&program->call[i]))
			return false;
	return program_is_single(program);
}

void program_remove(struct program *program, uint32_t at)
{
	memmove(&program->call[at], &program->call[at + 1],
		(--program->count - at) * sizeof(struct call));
}
