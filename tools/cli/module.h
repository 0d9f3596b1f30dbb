/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the kernel has the module, and what to do where it has not. */
#ifndef TWHEEL_MODULE_H
#define TWHEEL_MODULE_H

#include <stdbool.h>

/* Is the module loaded, or built into the kernel? True where nobody can tell. */
bool module_loaded(void);

/* What to do where there is no device file: a sentence. */
const char *module_advice(void);

#endif
