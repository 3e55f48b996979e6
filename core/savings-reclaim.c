/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/savings-internal.h"

/*
 * Pages merged and compressed.  Kernel documentation: admin-guide/mm/ksm.rst, admin-guide/mm/zswap.rst,
 * admin-guide/blockdev/zram.rst.
 */

#define KSM "/sys/kernel/mm/ksm/"

/* Net profit is signed: the kernel's own bookkeeping can cost more than merging gives. */
static int read_i64(struct measurement *m, const char *path, int64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = measurement_check(m, kernel_io_read_line(m->io, path, &text));
	return r < 0 ? r : parse_i64(text, ret);
}

/* What KSM took out of use, before the cost of its own bookkeeping.  Returns the saved pages. */
static uint64_t add_ksm_gross(struct measurement *m, uint64_t shared, uint64_t sharing, bool in_total)
{
	struct saving *row = measurement_row(m, "ksm", "pages-sharing");
	uint64_t zero = 0, pages;

	/* Mapped to the zero page by use_zero_pages; counted apart from pages_sharing, since 6.6. */
	measurement_check(m, kernel_io_read_u64(m->io, KSM "ksm_zero_pages", &zero));
	if (__builtin_add_overflow(sharing, zero, &pages))
		pages = UINT64_MAX;
	measurement_text(m, &row->sources, KSM "pages_sharing%s", zero ? " " KSM "ksm_zero_pages" : "");
	if (!shared && !pages) {
		measurement_text(m, &row->reason, "KSM has merged nothing");
		return 0;
	}
	saving_set(row, bytes_of(pages, m->page_bytes), SAVING_MEASURED, in_total);
	if (zero)
		measurement_text(m, &row->formula, "(%" PRIu64 " sharing + %" PRIu64 " zero) pages x %" PRIu64, sharing,
				 zero, m->page_bytes);
	else
		measurement_text(m, &row->formula, "%" PRIu64 " pages x %" PRIu64, sharing, m->page_bytes);
	measurement_text(m, &row->reason, "%s",
			 in_total ? "without the cost of KSM's own bookkeeping, which this kernel does not tell"
				  : "without the cost of KSM's own bookkeeping: general-profit is what is left and is "
				    "the one in the total");
	return pages;
}

void savings_add_ksm(struct measurement *m)
{
	uint64_t shared, sharing, run = 0;
	int64_t profit;
	struct saving *row;
	bool net;

	measurement_check(m, kernel_io_read_u64(m->io, KSM "run", &run));
	if (!m->page_bytes || measurement_check(m, kernel_io_read_u64(m->io, KSM "pages_shared", &shared)) < 0 ||
	    measurement_check(m, kernel_io_read_u64(m->io, KSM "pages_sharing", &sharing)) < 0) {
		measurement_text(m, &measurement_row(m, "ksm", NULL)->reason, "no counters below " KSM);
		return;
	}
	net = read_i64(m, KSM "general_profit", &profit) == 0;
	if (!run && !shared && !sharing && (!net || profit == 0)) {
		measurement_text(m, &measurement_row(m, "ksm", NULL)->reason, "KSM is off");
		if (m->what_if) {
			row = measurement_row(m, "ksm", NULL);
			row->what_if = true;
			measurement_text(m, &row->reason,
					 "how many pages are alike is known only after KSM has scanned them");
		}
		return;
	}
	if (!add_ksm_gross(m, shared, sharing, !net) && (!net || profit == 0))
		return;
	if (!net)
		return;
	row = measurement_row(m, "ksm", "general-profit");
	saving_set(row, profit, SAVING_MEASURED, true);
	measurement_text(m, &row->formula, "saved pages x %" PRIu64 " - the kernel's records of scanned pages",
			 m->page_bytes);
	measurement_text(m, &row->sources, KSM "general_profit");
	if (profit < 0)
		measurement_text(m, &row->reason, "KSM's records take more memory than merging gives back");
}

/* One line of /proc/swaps names a zram device. */
static bool is_zram_swap(const char *line, const char *name)
{
	const char *rest = startswith(line, "/dev/");

	rest = rest ? startswith(rest, name) : NULL;
	return rest && is_blank(*rest);
}

/* name NULL: any zram device. */
static bool swaps_on_zram(const char *swaps, const char *name)
{
	const char *next;

	for (const char *line = swaps; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			next++;
		if (name ? is_zram_swap(line, name) : startswith(line, "/dev/zram") != NULL)
			return true;
	}
	return false;
}

static bool zswap_is_on(struct measurement *m)
{
	_cleanup_free_ char *text = NULL;
	bool on;

	return measurement_check(m, kernel_io_read_line(m->io, "/sys/module/zswap/parameters/enabled", &text)) == 0 &&
	       parse_boolean(text, &on) == 0 && on;
}

static bool zswap_before_zram(struct measurement *m)
{
	_cleanup_free_ char *swaps = NULL;

	return zswap_is_on(m) && measurement_check(m, kernel_io_read(m->io, "/proc/swaps", &swaps, NULL)) == 0 &&
	       swaps_on_zram(swaps, NULL);
}

/* A page that was read back can be in memory and in the compressed store at once: then it saves nothing. */
static void remark_swap_cache(struct measurement *m, struct saving *row)
{
	uint64_t kib;

	if (keyed_u64(m->meminfo, "SwapCached", &kib) == 0 && kib)
		measurement_remark(m, row, "up to %" PRIu64 " KiB of it is in the swap cache as well", kib);
}

/* Stored and pool size in bytes. 0 or -ENODATA. */
static int read_zswap(struct measurement *m, uint64_t *ret_original, uint64_t *ret_used, const char **ret_sources)
{
	uint64_t original, used;

	/* Since 5.19; unprivileged. */
	if (keyed_u64(m->meminfo, "Zswapped", &original) == 0 && keyed_u64(m->meminfo, "Zswap", &used) == 0) {
		*ret_original = (uint64_t)bytes_of(original, 1024);
		*ret_used = (uint64_t)bytes_of(used, 1024);
		*ret_sources = "/proc/meminfo";
		return 0;
	}
	if (m->page_bytes &&
	    measurement_check(m, kernel_io_read_u64(m->io, "/sys/kernel/debug/zswap/stored_pages", &original)) == 0 &&
	    measurement_check(m, kernel_io_read_u64(m->io, "/sys/kernel/debug/zswap/pool_total_size", &used)) == 0) {
		*ret_original = (uint64_t)bytes_of(original, m->page_bytes);
		*ret_used = (uint64_t)bytes_of(used, 1);
		*ret_sources = "/sys/kernel/debug/zswap/stored_pages /sys/kernel/debug/zswap/pool_total_size";
		return 0;
	}
	return -ENODATA;
}

void savings_add_zswap(struct measurement *m)
{
	struct saving *row = measurement_row(m, "zswap", NULL);
	bool on = zswap_is_on(m);
	uint64_t original, used;
	const char *sources;

	if (read_zswap(m, &original, &used, &sources) < 0) {
		measurement_text(m, &row->reason, "%s",
				 kernel_io_exists(m->io, "/sys/module/zswap")
					 ? "no counters that may be read: /proc/meminfo has them since Linux 5.19"
					 : "this kernel has no zswap");
	} else if (!original && !used) {
		measurement_text(m, &row->reason, on ? "zswap holds nothing" : "zswap is off");
	} else {
		saving_set(row, (int64_t)original - (int64_t)used, SAVING_MEASURED, true);
		measurement_text(m, &row->formula, "%" PRIu64 " original - %" PRIu64 " used", original, used);
		measurement_text(m, &row->sources, "%s", sources);
		remark_swap_cache(m, row);
	}
	if (zswap_before_zram(m))
		measurement_remark(
			m, row,
			"warning: zswap stands before zram, so that pages are compressed twice: use one of the two");
	if (m->what_if && !on && kernel_io_exists(m->io, "/sys/module/zswap")) {
		row = measurement_row(m, "zswap", NULL);
		row->what_if = true;
		measurement_text(m, &row->reason,
				 "how much would be swapped, and how well it compresses, is not known beforehand");
	}
}

/* The first n numbers of a line. 0 or -EINVAL. */
static int read_numbers(struct measurement *m, const char *path, uint64_t *ret, size_t n)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_(strv_freep) char **words = NULL;
	int r;

	r = measurement_check(m, kernel_io_read_line(m->io, path, &line));
	if (r < 0)
		return r;
	r = measurement_check(m, strv_split(line, &words));
	if (r < 0)
		return r;
	if (strv_length(words) < n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (parse_u64(words[i], &ret[i]) < 0)
			return -EINVAL;
	return 0;
}

static void set_zram(struct measurement *m, struct saving *row, uint64_t original, uint64_t used, uint64_t on_disk)
{
	int64_t written_back = bytes_of(on_disk, 4096);

	saving_set(row, bytes_less(bytes_less(bytes_of(original, 1), written_back), bytes_of(used, 1)), SAVING_MEASURED,
		   true);
	if (written_back)
		measurement_text(m, &row->formula,
				 "%" PRIu64 " original - %" PRIi64 " written back to disk - %" PRIu64 " used", original,
				 written_back, used);
	else
		measurement_text(m, &row->formula, "%" PRIu64 " original - %" PRIu64 " used", original, used);
}

static void add_zram_device(struct measurement *m, const char *name, const char *swaps, bool behind_zswap)
{
	_cleanup_free_ char *mm_stat = xasprintf("/sys/block/%s/mm_stat", name);
	_cleanup_free_ char *bd_stat = xasprintf("/sys/block/%s/bd_stat", name);
	struct saving *row = measurement_row(m, "zram", name);
	/* orig_data_size compr_data_size mem_used_total; bd_count, in units of 4 KiB, of a backing device. */
	uint64_t stat[3], on_disk = 0;

	if (!mm_stat || !bd_stat) {
		m->failed = true;
		return;
	}
	measurement_text(m, &row->sources, "%s", mm_stat);
	if (read_numbers(m, mm_stat, stat, ARRAY_SIZE(stat)) < 0) {
		measurement_text(m, &row->reason, "%s cannot be read", mm_stat);
	} else if (!stat[0] && !stat[2]) {
		measurement_text(m, &row->reason, "%s holds nothing", name);
	} else {
		if (read_numbers(m, bd_stat, &on_disk, 1) == 0 && on_disk)
			measurement_text(m, &row->sources, "%s %s", mm_stat, bd_stat);
		set_zram(m, row, stat[0], stat[2], on_disk);
		if (!swaps_on_zram(swaps, name)) {
			row->in_total = false;
			measurement_remark(
				m, row,
				"no swap: without zram this data need not be in memory at all, hence not in the "
				"total");
		} else {
			remark_swap_cache(m, row);
		}
	}
	if (behind_zswap) {
		row->in_total = false;
		measurement_remark(
			m, row,
			"warning: zswap stands before zram: only what zswap turns away or evicts comes here, so the "
			"number says little and is not in the total");
	}
}

void savings_add_zram(struct measurement *m)
{
	_cleanup_(strv_freep) char **devices = NULL;
	_cleanup_free_ char *swaps = NULL;
	bool behind_zswap, any = false;
	struct saving *row;

	if (measurement_check(m, kernel_io_read(m->io, "/proc/swaps", &swaps, NULL)) < 0)
		swaps = NULL;
	behind_zswap = zswap_is_on(m);
	measurement_check(m, kernel_io_list(m->io, "/sys/block", &devices));
	for (char **d = devices; d && *d; d++) {
		if (!startswith(*d, "zram"))
			continue;
		any = true;
		add_zram_device(m, *d, swaps, behind_zswap && swaps_on_zram(swaps, *d));
	}
	if (any)
		return;
	measurement_text(m, &measurement_row(m, "zram", NULL)->reason, "there is no zram device");
	if (m->what_if) {
		row = measurement_row(m, "zram", NULL);
		row->what_if = true;
		measurement_text(m, &row->reason,
				 "how much would be swapped, and how well it compresses, is not known beforehand");
	}
}
