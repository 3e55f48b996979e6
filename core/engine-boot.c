/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/boot/line.h"
#include "core/boot/place.h"
#include "core/engine-internal.h"
#include "core/report-views.h"

int engine_boot_status(struct engine *e, struct report **ret)
{
	_cleanup_free_ char *wanted = NULL;
	struct boot_view view = {};
	int r = engine_load_plan(e);

	if (r < 0)
		return r;
	r = facts_probe(&e->facts, e->io, FACTS_BOOT | FACTS_KERNEL);
	if (r < 0)
		return diag_error(e->diags, r, "cannot probe the machine: %s", strerror(-r));
	view.cmdline = facts_word(&e->facts, "boot.cmdline");
	view.loader = facts_word(&e->facts, "boot.loader");
	view.place = boot_place(&e->facts);
	view.limit_bytes = boot_line_limit(facts_word(&e->facts, FACT_ARCHITECTURE));
	view.length_bytes = boot_line_length(e->plan, view.cmdline ?: "");
	wanted = boot_line_wanted(e->plan);
	if (!wanted)
		return diag_error(e->diags, -ENOMEM, "out of memory");
	view.wanted = wanted;
	*ret = report_boot_status(e->plan, &view);
	return 0;
}
