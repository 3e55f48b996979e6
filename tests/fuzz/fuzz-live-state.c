/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "core/live-state.h"
#include "fuzz.h"

/* Whatever stands in the file: a whole state in order, or none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct live_state s = {};
	uint64_t start = 0;

	if (live_state_parse((const char *)data, size, &s, &start) < 0) {
		HOLDS(!s.running && s.n_drifts == 0);
		return 0;
	}
	HOLDS(s.running && s.pid > 0);
	for (size_t i = 0; i < s.n_drifts; i++) {
		HOLDS(*s.drifts[i].id && s.drifts[i].from && s.drifts[i].to && s.drifts[i].pid >= 0);
		HOLDS(i == 0 || strcmp(s.drifts[i - 1].id, s.drifts[i].id) <= 0);
		HOLDS(live_state_find(&s, s.drifts[i].id) != NULL);
	}
	live_state_clear(&s);
	return 0;
}
