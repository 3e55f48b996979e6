/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/bus-client-library.h"

#include <dlfcn.h>

#include "base/macros.h"

/* The name by which its interface does not change. */
#define LIBRARY "libsystemd.so.0"

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define BUS_ENTRY(name) { #name, offsetof(struct bus_library, name) },
	BUS_FUNCTIONS(BUS_ENTRY)
#undef BUS_ENTRY
};

int bus_library_load(struct bus_library *ret)
{
	struct bus_library library = {};
	void *handle = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);

	if (!handle)
		return -ENOPKG;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function)
			return -ENOPKG;
		memcpy((char *)&library + functions[i].offset, &function, sizeof(function));
	}
	*ret = library;
	return 0;
}
