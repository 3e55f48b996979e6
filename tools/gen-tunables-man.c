/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prints mmopt-tunables(7) from the catalogue: the rows are the one place where a tunable is described.
 * Usage: gen-tunables-man DATE
 */
#include <stdio.h>

#include "base/strutil.h"
#include "core/catalogue.h"

/* In the order of the page; a section of the catalogue that is missing here makes the build fail. */
static const struct {
	const char *name, *title, *text;
} sections[] = {
	{ "vm", "VIRTUAL MEMORY", "Files below /proc/sys/vm." },
	{ "thp", "TRANSPARENT HUGE PAGES", "Huge pages that the kernel gives by itself." },
	{ "khugepaged", "KHUGEPAGED", "The kernel thread that makes huge pages out of small ones." },
	{ "mthp", "MULTI-SIZE HUGE PAGES", "Folios between a base page and a huge page, by size." },
	{ "hugetlb", "HUGETLB POOLS",
	  "Huge pages set aside for programs that ask for them by name, by size and node." },
	{ "mglru", "MULTI-GENERATIONAL LRU", "How reclaim finds out what is in use." },
	{ "ksm", "KERNEL SAMEPAGE MERGING", "Merging of equal pages that programs offer for it." },
	{ "zswap", "ZSWAP", "A compressed cache in front of swap." },
	{ "damon", "DAMON", "Data access monitoring, and what acts on it." },
	{ "numa", "NUMA PLACEMENT", "Placement of pages on nodes." },
	{ "swap", "SWAP", "Reading back from swap." },
	{ "faultaround", "FAULT-AROUND", "Mapping of what lies around a fault." },
	{ "memory", "MEMORY HOTPLUG AND REPORTING", "Memory that comes and goes." },
	{ "boot", "BOOT PARAMETERS",
	  "Parameters on the kernel command line; they are checked now and hold from the next boot on." },
};

/* One character of text: nothing is taken for markup, and in names '-' stays the one on the keyboard. */
static void print_character(char c, bool literal)
{
	if (c == '\\')
		fputs("\\e", stdout);
	else if (c == '-' && literal)
		fputs("\\-", stdout);
	else if (c == '"')
		fputs("\\(dq", stdout);
	else
		putchar(c);
}

static void print_text(const char *s, bool literal)
{
	for (; *s; s++)
		print_character(*s, literal);
}

/* Running text, in lines that a person can read, and each sentence on a new one as mdoc wants it. */
static void print_sentences(const char *s)
{
	size_t column = 0;

	while (*s) {
		size_t n = strcspn(s, " ");
		bool ends = s[n] && n > 0 && s[n - 1] == '.';

		if (column > 0 && column + n >= 78) {
			putchar('\n');
			column = 0;
		} else if (column > 0) {
			putchar(' ');
			column++;
		}
		if (column == 0 && (*s == '.' || *s == '\''))
			fputs("\\&", stdout);
		for (size_t i = 0; i < n; i++)
			print_character(s[i], false);
		column += n;
		s += n;
		while (*s == ' ')
			s++;
		if (ends) {
			putchar('\n');
			column = 0;
		}
	}
	if (column > 0)
		putchar('\n');
}

static void print_macro(const char *macro, const char *argument)
{
	printf(".%s \"", macro);
	print_text(argument, true);
	puts("\"");
}

static void print_values(const struct tunable *t)
{
	char range[256];

	puts(".It Values");
	print_text(tunable_range_text(t, range), true);
	puts(t->auto_rule ? "; auto" : "");
}

/* What counts as done beyond the value that was written. */
static const char *comparison_text(const struct tunable *t)
{
	switch (t->compare) {
	case COMPARE_EQUAL:
		return NULL;
	case COMPARE_MAY_RAISE:
		return "a higher value that the kernel set itself counts as adjusted";
	case COMPARE_POWER_OF_2:
		return "the kernel rounds down to a power of two";
	case COMPARE_SUBSET:
		return "the kernel drops bits that the hardware cannot do";
	case COMPARE_AT_LEAST:
		return "more than asked counts as there already";
	case COMPARE_LIST_ZEROES:
		return "entries that the kernel shows as 0 because they are off count as equal";
	}
	return NULL;
}

static void print_where(const struct tunable *t)
{
	switch (t->scope) {
	case SCOPE_RUNTIME:
		puts(".It File");
		print_macro("Pa", t->path);
		if (t->alias_path) {
			puts(".It Also");
			print_macro("Pa", t->alias_path);
		}
		break;
	case SCOPE_BOOT:
		puts(".It Boot");
		print_macro("Cm", t->path);
		if (t->boot_effect_path) {
			_cleanup_free_ char *file = strndup(t->boot_effect_path, strcspn(t->boot_effect_path, "="));

			puts(".It Effect");
			print_macro("Pa", file ?: "");
		}
		break;
	case SCOPE_DAEMON:
		puts(".It File\nnone: a running mmoptd would hold it, which this version does not have");
		break;
	case SCOPE_OPTION:
		puts(".It File\nnone: steers mmopt itself");
		break;
	case SCOPE_RAW:
		break;
	}
}

static void print_row(const struct tunable *t)
{
	const char *comparison = comparison_text(t);

	print_macro("It Cm", t->id);
	print_sentences(t->why);
	if (t->hazard)
		print_sentences(t->hazard);
	puts(".Bl -tag -compact -width Values");
	print_values(t);
	if (comparison)
		printf(".It Read\n%s\n", comparison);
	if (t->linked) {
		puts(".It Linked");
		print_macro("Cm", t->linked);
		puts("is the other form of the same setting");
	}
	print_where(t);
	if (t->needs) {
		puts(".It Needs");
		print_sentences(t->needs);
	}
	puts(".It Since");
	if (streq(t->since, "patched"))
		puts("no mainline kernel");
	else
		printf("Linux %s\n", t->since);
	puts(".It See");
	print_sentences(t->doc);
	puts(".El");
}

static size_t print_section(size_t i)
{
	size_t n, printed = 0;
	const struct tunable *rows = catalogue_rows(&n);

	printf(".Sh %s\n", sections[i].title);
	print_sentences(sections[i].text);
	puts(".Bl -tag -width Ds");
	for (size_t k = 0; k < n; k++) {
		const char *rest = startswith(rows[k].id, sections[i].name);

		if (!rest || *rest != '.')
			continue;
		print_row(&rows[k]);
		printed++;
	}
	puts(".El");
	return printed;
}

static void print_header(const char *date)
{
	printf(".\\\" SPDX-License-Identifier: LGPL-2.1-or-later\n"
	       ".\\\" Made from the catalogue by tools/gen-tunables-man.c: change the rows, not this page.\n"
	       ".Dd %s\n.Dt MMOPT-TUNABLES 7\n.Os mmopt\n"
	       ".Sh NAME\n.Nm mmopt-tunables\n.Nd memory-management settings that mmopt knows\n"
	       ".Sh DESCRIPTION\n"
	       "These are the names that a policy file may set, by section; see\n.Xr mmopt.policy 5 .\n"
	       "In a file the part before the first dot is the section and the rest the key:\n"
	       ".Cm vm.swappiness\nis\n.Cm swappiness\nin\n.Cm [vm] .\n"
	       "A\n.Cm *\nstands for a size such as 64K, 2M or 1G, and\n.Cm node*\nfor a node such as node0.\n"
	       "In a path {kib} is that size in KiB and {node} that node.\n"
	       ".Pp\n"
	       "A number in a unit of memory may be written as a size\n.Pq 64K, 2M, 1G\n"
	       "or as a share of memory\n.Pq 10%% ;\n"
	       "the unit that the kernel's file has stands after the range.\n"
	       "Where\n.Cm auto\nis listed the hardware and the kernel decide, and\n"
	       ".Ql mmoptctl plan\nshows the reason.\n"
	       ".Pp\n"
	       "Versions are those of mainline kernels; distributions may have a setting\n"
	       "earlier or lack it.\n"
	       "Documents are those below Documentation/ in the kernel's source.\n",
	       date);
}

int main(int argc, char **argv)
{
	size_t n, printed = 0;

	if (argc != 2) {
		fputs("usage: gen-tunables-man DATE\n", stderr);
		return 1;
	}
	(void)catalogue_rows(&n);

	print_header(argv[1]);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		printed += print_section(i);
	puts(".Sh SEE ALSO\n.Xr mmoptctl 1 ,\n.Xr mmopt.policy 5");

	if (printed != n) {
		fprintf(stderr, "gen-tunables-man: a section of the catalogue is missing here\n");
		return 1;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("gen-tunables-man");
		return 1;
	}
	return 0;
}
