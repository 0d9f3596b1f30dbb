// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "module.h"

/* The devices of the kernel's class misc. It is there in containers, too. */
#define MODULE_DEVICES	"/proc/misc"

bool module_loaded(void)
{
	FILE *file = fopen(MODULE_DEVICES, "re");
	bool found = !file;
	char name[32];

	while (!found && fscanf(file, "%*u %31s", name) == 1)
		found = !strcmp(name, "twheel");
	if (file)
		fclose(file);
	return found;
}

/* Does modprobe know it? Each line begins with the path of a module, and a colon. */
static bool module_installed(void)
{
	struct utsname kernel;
	bool found = false;
	char *line = NULL;
	size_t size = 0;
	char path[128];
	FILE *file;

	uname(&kernel);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", kernel.release);
	file = fopen(path, "re");
	while (!found && file && getline(&line, &size, file) > 0) {
		line[strcspn(line, ":")] = '\0';
		found = strstr(line, "/twheel.ko");
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

const char *module_advice(void)
{
	if (module_loaded())
		return "The module is loaded, but its file is not here: is this a container?";
	if (module_installed())
		return "The module is not loaded. As root: modprobe twheel";
	return "The module is not installed for this kernel";
}
