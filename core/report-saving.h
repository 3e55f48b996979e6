/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/report.h"
#include "core/savings.h"

/* Savings as a part of other views: text shows what is saved, JSON every row. */
void report_add_savings(struct report *r, const char *name, const struct savings *savings);

/* The total as a field; null where savings are NULL or have no data. */
void report_add_total(struct report *r, const char *name, const char *title, const struct savings *savings);
