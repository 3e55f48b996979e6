/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "daemon/manager-conf.h"
#include "fuzz.h"

/* Whatever is said, the daemon gets settings that it can work with, and each message fits one line of the log. */
static void check(const struct manager_conf *c)
{
	HOLDS(c->on_drift == ON_CHANGE_REPORT || c->on_drift == ON_CHANGE_APPLY);
	HOLDS(c->on_policy_change == ON_CHANGE_REPORT || c->on_policy_change == ON_CHANGE_APPLY);
	HOLDS(c->on_memory_change == ON_CHANGE_REPORT || c->on_memory_change == ON_CHANGE_APPLY);
	HOLDS(c->drift_interval_usec == 0 || c->drift_interval_usec >= 10000000);
	HOLDS(c->memory_settle_usec >= 100000 && c->memory_settle_usec <= 3600000000);
	HOLDS(c->guard_permyriad < 10000);
	HOLDS(c->guard_usec >= 2000000);
	HOLDS(!c->textfile_directory || *c->textfile_directory == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag_list diags = { 0 };
	struct manager_conf conf;

	manager_conf_defaults(&conf);
	HOLDS(manager_conf_parse("t", (const char *)data, size, &diags, &conf) == 0);
	check(&conf);
	HOLDS(diags.n_errors == 0 && diags.n == diags.n_warnings);
	for (size_t i = 0; i < diags.n; i++)
		HOLDS(*diags.items[i].text && !strchr(diags.items[i].text, '\n'));
	diag_list_clear(&diags);
	manager_conf_clear(&conf);
	return 0;
}
