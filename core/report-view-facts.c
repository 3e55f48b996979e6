/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strutil.h"
#include "core/report-views.h"

enum {
	FACT_COLUMN_NAME,
	FACT_COLUMN_VALUE,
	FACT_COLUMN_CONFIDENCE,
	FACT_COLUMN_GROUP,
	FACT_COLUMN_SOURCE,
	FACT_COLUMN_REASON,
	FACT_COLUMN_SOURCE_TEXT,
	_FACT_COLUMN_MAX,
};

static const struct column columns[_FACT_COLUMN_MAX] = {
	[FACT_COLUMN_NAME] = { "name", "FACT", 0 },
	[FACT_COLUMN_VALUE] = { "value", "VALUE", COLUMN_FOLD },
	[FACT_COLUMN_CONFIDENCE] = { "confidence", "HOW", COLUMN_DROPPABLE },
	[FACT_COLUMN_GROUP] = { "group", "", COLUMN_JSON_ONLY },
	[FACT_COLUMN_SOURCE] = { "source", "", COLUMN_JSON_ONLY },
	[FACT_COLUMN_REASON] = { "reason", "", COLUMN_JSON_ONLY },
	[FACT_COLUMN_SOURCE_TEXT] = { "source_text", "SOURCE", COLUMN_TEXT_ONLY | COLUMN_WRAP },
};

static const char *group_name(enum facts_group group)
{
	switch (group) {
	case FACTS_KERNEL:
		return "kernel";
	case FACTS_MEMORY:
		return "memory";
	case FACTS_HUGETLB:
		return "hugetlb";
	case FACTS_STRUCT_PAGE:
		return "struct-page";
	case FACTS_ACCESS_FLAG:
		return "access-flag";
	case FACTS_FAULT_AROUND:
		return "fault-around";
	case FACTS_THP:
		return "thp";
	case FACTS_RECLAIM:
		return "reclaim";
	case FACTS_NUMA:
		return "numa";
	case FACTS_VIRT:
		return "virt";
	case FACTS_BOOT:
		return "boot";
	case FACTS_WRITERS:
		return "writers";
	case FACTS_CONFIG:
		return "config";
	case FACTS_CONFINEMENT:
		return "confinement";
	case FACTS_COMMIT:
		return "commit";
	case FACTS_ALL:
		break;
	}
	return NULL;
}

static void cell_value(struct report_table *t, const struct fact *f)
{
	switch (f->type) {
	case FACT_UNKNOWN:
		return;
	case FACT_NUMBER:
		/* The unit is part of the name, so that this is all it takes to show sizes as people read them. */
		if (endswith(f->name, "_bytes") || endswith(f->name, ".bytes"))
			report_cell_bytes(t, FACT_COLUMN_VALUE, (int64_t)f->number);
		else
			report_cell_number(t, FACT_COLUMN_VALUE, (int64_t)f->number);
		return;
	case FACT_BOOLEAN:
		report_cell_boolean(t, FACT_COLUMN_VALUE, f->number != 0);
		return;
	case FACT_WORD:
		report_cell_text(t, FACT_COLUMN_VALUE, f->word);
		return;
	}
}

static void add_fact(struct report_table *t, const struct fact *f)
{
	report_row(t);
	report_cell_text(t, FACT_COLUMN_NAME, f->name);
	report_cell_text(t, FACT_COLUMN_GROUP, group_name(f->group));
	if (f->type == FACT_UNKNOWN) {
		report_cell_text(t, FACT_COLUMN_REASON, f->source);
		report_cell_text(t, FACT_COLUMN_SOURCE_TEXT, f->source);
		return;
	}
	cell_value(t, f);
	report_cell_text(t, FACT_COLUMN_CONFIDENCE, fact_confidence_name(f->confidence));
	report_cell_text(t, FACT_COLUMN_SOURCE, f->source);
	report_cell_text(t, FACT_COLUMN_SOURCE_TEXT, f->source);
}

struct report *report_facts(const struct facts *facts)
{
	struct report *r = report_new("facts");
	struct report_table *t = report_add_table(r, "facts", NULL, columns, _FACT_COLUMN_MAX);

	for (size_t i = 0; i < facts->n; i++)
		add_fact(t, &facts->items[i]);
	report_verdict(r, 0, "known");
	return r;
}
