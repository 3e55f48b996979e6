/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/undo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a record makes root write never leaves /proc/sys and /sys. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct transaction t = {};

	if (transaction_parse((const char *)data, size, &t) < 0)
		return 0;
	for (size_t i = 0; i < t.n_entries; i++) {
		const char *path = t.entries[i].path;

		if ((strncmp(path, "/proc/sys/", 10) != 0 && strncmp(path, "/sys/", 5) != 0) || strstr(path, "/../"))
			abort();
	}
	transaction_clear(&t);
	return 0;
}
