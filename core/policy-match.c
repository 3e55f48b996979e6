/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/policy-parse.h"

/*
 * [Match]: all lines of a file have to hold.  In one line, of the plain words one has to be true and of the bounds and
 * the negated words every one: "KernelVersion = >=5.18 <6.12" is a range, "Host = db-* !db-test*" leaves some out.
 * What the machine does not tell is never true.
 */

enum match_operator {
	MATCH_EQUAL,
	MATCH_LESS,
	MATCH_LESS_EQUAL,
	MATCH_GREATER,
	MATCH_GREATER_EQUAL,
};

struct match_key {
	const char *name;
	unsigned groups; /* enum facts_group: what has to be probed */
	const char *fact;
	bool ordered; /* takes < <= > >= */
	/* facts NULL: looks at the operand alone.  1 true, 0 false, -EINVAL for a bad operand, -ENODATA: not known, -ENOMEM. */
	int (*test)(const struct match_key *key, const struct facts *facts, enum match_operator op,
		    const char *operand);
	const char *takes; /* for messages */
};

static int holds(enum match_operator op, int order)
{
	switch (op) {
	case MATCH_EQUAL:
		return order == 0;
	case MATCH_LESS:
		return order < 0;
	case MATCH_LESS_EQUAL:
		return order <= 0;
	case MATCH_GREATER:
		return order > 0;
	case MATCH_GREATER_EQUAL:
		return order >= 0;
	}
	return 0;
}

static int test_word(const struct match_key *key, const struct facts *facts, enum match_operator op,
		     const char *operand)
{
	const char *word = facts ? facts_word(facts, key->fact) : operand;

	if (!word)
		return -ENODATA;
	return streq(word, operand);
}

/* What an architecture is called elsewhere, and what the facts call it. */
static const char *architecture_name(const char *word)
{
	static const struct {
		const char *alias, *name;
	} table[] = {
		{ "amd64", "x86_64" },		{ "x86-64", "x86_64" },	  { "aarch64", "arm64" },
		{ "riscv", "riscv64" },		{ "ppc64le", "powerpc" }, { "s390x", "s390" },
		{ "loongarch64", "loongarch" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (streq(word, table[i].alias))
			return table[i].name;
	return word;
}

/* A slip here would make a file silently never hold, so only names that Linux has are taken. */
static bool architecture_known(const char *name)
{
	static const char *const names[] = {
		"alpha",   "arc",	 "arm",	 "arm64", "csky",     "hexagon", "i386",    "loongarch",
		"m68k",	   "microblaze", "mips", "nios2", "openrisc", "parisc",	 "powerpc", "riscv32",
		"riscv64", "s390",	 "sh",	 "sparc", "um",	      "x86_64",	 "xtensa",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return true;
	return false;
}

static int test_architecture(const struct match_key *key, const struct facts *facts, enum match_operator op,
			     const char *operand)
{
	const char *wanted = architecture_name(operand), *word;

	if (!architecture_known(wanted))
		return -EINVAL;
	word = facts ? facts_word(facts, key->fact) : wanted;
	if (!word)
		return -ENODATA;
	return streq(architecture_name(word), wanted);
}

static int test_access_flag(const struct match_key *key, const struct facts *facts, enum match_operator op,
			    const char *operand)
{
	if (!streq(operand, "hardware") && !streq(operand, "software") && !streq(operand, "unknown"))
		return -EINVAL;
	return test_word(key, facts, op, operand);
}

static int test_host(const struct match_key *key, const struct facts *facts, enum match_operator op,
		     const char *operand)
{
	const char *word = facts ? facts_word(facts, key->fact) : operand;

	if (!word)
		return -ENODATA;
	return fnmatch(operand, word, 0) == 0;
}

/* A kind ("kvm", "docker"), or yes and no for any and none. */
static int test_kind_or_none(const struct match_key *key, const struct facts *facts, enum match_operator op,
			     const char *operand)
{
	const char *word = facts ? facts_word(facts, key->fact) : operand;
	bool any;

	if (!word)
		return -ENODATA;
	if (parse_boolean(operand, &any) == 0)
		return any != streq(word, "none");
	return streq(word, operand);
}

/* Number of dotted numbers, or 0 where it is something else. */
static unsigned version_length(const char *version)
{
	unsigned n = 0;

	for (const char *p = version;; p++) {
		size_t digits = strspn(p, "0123456789");

		if (digits == 0 || digits > 9)
			return 0;
		n++;
		p += digits;
		if (!*p)
			return n;
		if (*p != '.')
			return 0;
	}
}

/* "6.12" stands for the whole series: 6.12.117 is equal to it, and neither above nor below. */
static int test_version(const struct match_key *key, const struct facts *facts, enum match_operator op,
			const char *operand)
{
	unsigned n = version_length(operand);
	_cleanup_free_ char *release = NULL;
	const char *word, *p;

	if (n == 0)
		return -EINVAL;
	word = facts ? facts_word(facts, key->fact) : operand;
	if (!word)
		return -ENODATA;
	p = word;
	for (unsigned i = 0; i < n; i++) {
		if (i > 0 && *p == '.')
			p++;
		p += strspn(p, "0123456789");
	}
	release = strndup(word, (size_t)(p - word));
	if (!release)
		return -ENOMEM;
	return holds(op, kernel_release_compare(release, operand));
}

static int compare_number(const struct match_key *key, const struct facts *facts, enum match_operator op,
			  uint64_t wanted)
{
	uint64_t n = wanted;

	if (facts && facts_number(facts, key->fact, &n) < 0)
		return -ENODATA;
	return holds(op, n < wanted ? -1 : n > wanted);
}

static int test_size(const struct match_key *key, const struct facts *facts, enum match_operator op,
		     const char *operand)
{
	bool suffixed;
	uint64_t bytes;

	if (parse_size(operand, &bytes, &suffixed) < 0 || !suffixed)
		return -EINVAL;
	return compare_number(key, facts, op, bytes);
}

/*
 * Of a machine sold with 64G some is the firmware's and the kernel's own, and MemTotal is short of it.  What people
 * compare with is what is built in, and that is what the online blocks add up to.
 */
static int test_memory(const struct match_key *key, const struct facts *facts, enum match_operator op,
		       const char *operand)
{
	struct match_key total = *key;
	int r = test_size(key, facts, op, operand);

	if (r != -ENODATA)
		return r;
	total.fact = FACT_MEMORY_TOTAL;
	return test_size(&total, facts, op, operand);
}

static int test_number(const struct match_key *key, const struct facts *facts, enum match_operator op,
		       const char *operand)
{
	uint64_t n;

	if (parse_u64(operand, &n) < 0)
		return -EINVAL;
	return compare_number(key, facts, op, n);
}

static const struct match_key match_keys[] = {
	{
		.name = "AccessFlag",
		.groups = FACTS_ACCESS_FLAG,
		.fact = FACT_ACCESS_FLAG,
		.test = test_access_flag,
		.takes = "hardware, software or unknown",
	},
	{
		.name = "Architecture",
		.groups = FACTS_KERNEL,
		.fact = FACT_ARCHITECTURE,
		.test = test_architecture,
		.takes = "names like x86_64 or arm64",
	},
	{
		.name = "Container",
		.groups = FACTS_VIRT,
		.fact = FACT_CONTAINER,
		.test = test_kind_or_none,
		.takes = "yes, no or kinds like docker",
	},
	{
		.name = "Host",
		.groups = FACTS_KERNEL,
		.fact = FACT_HOST,
		.test = test_host,
		.takes = "host names, with * ? [...] as in the shell",
	},
	{
		.name = "KernelVersion",
		.groups = FACTS_KERNEL,
		.fact = FACT_RELEASE,
		.ordered = true,
		.test = test_version,
		.takes = "versions like 6.12 or bounds like >=5.18",
	},
	{
		.name = "MemoryTotal",
		.groups = FACTS_MEMORY,
		.fact = FACT_MEMORY_ONLINE,
		.ordered = true,
		.test = test_memory,
		.takes = "bounds like >=64G",
	},
	{
		.name = "NumaNodes",
		.groups = FACTS_NUMA,
		.fact = FACT_NODES,
		.ordered = true,
		.test = test_number,
		.takes = "numbers or bounds like >=2",
	},
	{
		.name = "PageSize",
		.groups = FACTS_KERNEL,
		.fact = FACT_PAGE_SIZE,
		.ordered = true,
		.test = test_size,
		.takes = "sizes like 4K or 64K",
	},
	{
		.name = "Virtualization",
		.groups = FACTS_VIRT,
		.fact = FACT_VIRTUALIZATION,
		.test = test_kind_or_none,
		.takes = "yes, no or kinds like kvm",
	},
};

static const struct match_key *find_key(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(match_keys); i++)
		if (streq(match_keys[i].name, name))
			return &match_keys[i];
	return NULL;
}

static void report_unknown_key(struct policy_parser *p, unsigned line, const char *name)
{
	unsigned best_distance = UINT_MAX;
	const char *best = NULL;
	char shown[POLICY_SHOWN_SIZE];

	if (p->suggestions_left > 0) {
		p->suggestions_left--;
		for (size_t i = 0; i < ARRAY_SIZE(match_keys); i++)
			if (nearer_name(name, match_keys[i].name, &best_distance))
				best = match_keys[i].name;
	}
	if (best)
		policy_error(p, line, NULL, "unknown condition \"%s\" in [Match]; did you mean \"%s\"?",
			     policy_shown(name, shown), best);
	else
		policy_error(p, line, NULL, "unknown condition \"%s\" in [Match]; see mmopt.policy(5), CONDITIONS",
			     policy_shown(name, shown));
}

/* One word of a line, taken apart. */
struct match_word {
	enum match_operator op;
	bool negated, bounded;
	const char *operand;
};

static struct match_word take_word(const char *word)
{
	static const struct {
		const char *sign;
		enum match_operator op;
	} table[] = {
		{ ">=", MATCH_GREATER_EQUAL }, { "<=", MATCH_LESS_EQUAL }, { ">", MATCH_GREATER },
		{ "<", MATCH_LESS },	       { "=", MATCH_EQUAL },
	};
	struct match_word w = { .op = MATCH_EQUAL };

	if (*word == '!') {
		w.negated = true;
		word++;
	}
	w.operand = word;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *rest = startswith(word, table[i].sign);

		if (rest) {
			w.op = table[i].op;
			w.operand = rest;
			break;
		}
	}
	w.bounded = w.op != MATCH_EQUAL;
	return w;
}

/* ">= 5.18" becomes ">=5.18": a sign belongs to the word after it.  The caller frees. */
static char *close_up_signs(const char *value)
{
	char *copy = malloc(strlen(value) + 1), *out = copy;

	if (!copy)
		return NULL;
	while (*value) {
		*out++ = *value++;
		if (strchr("!<>=", out[-1]))
			while (is_blank(*value))
				value++;
	}
	*out = 0;
	return copy;
}

/* Why the file does not match: "MemoryTotal = >=64G is not so: here it is 16G".  NULL on lack of memory. */
static char *false_reason(const struct match_key *key, const struct facts *facts, const char *value)
{
	char shown[POLICY_SHOWN_SIZE], number[24];
	const char *word = facts_word(facts, key->fact);
	uint64_t n;

	policy_shown(value, shown);
	if (!word && facts_number(facts, key->fact, &n) == 0) {
		if (key->test == test_number)
			snprintf(number, sizeof(number), "%" PRIu64, n);
		else
			format_size_exact(n, number);
		word = number;
	}
	if (!word)
		return xasprintf("%s = %s: this is not known here", key->name, shown);
	return xasprintf("%s = %s: here it is %s", key->name, shown, word);
}

/* 1 where the line holds, 0 where not, -EINVAL after a message, -ENOMEM. */
static int test_line(struct policy_parser *p, unsigned line, const struct match_key *key, char *const *words,
		     const struct facts *facts)
{
	bool any_plain = false, plain_holds = false, rest_holds = true, bad = false;

	for (size_t i = 0; words && words[i]; i++) {
		struct match_word w = take_word(words[i]);
		char shown[POLICY_SHOWN_SIZE];
		int r = -EINVAL;

		if (*w.operand && (key->ordered || w.op == MATCH_EQUAL))
			r = key->test(key, facts, w.op, w.operand);
		if (r == -ENOMEM)
			return r;
		if (r == -EINVAL) {
			policy_error(p, line, key->name, "\"%s\" is not understood; it takes %s",
				     policy_shown(words[i], shown), key->takes);
			bad = true;
		}
		if (w.negated || w.bounded)
			rest_holds = rest_holds && r >= 0 && (r > 0) != w.negated;
		else
			any_plain = true, plain_holds = plain_holds || r > 0;
	}
	if (bad)
		return -EINVAL;
	return rest_holds && (plain_holds || !any_plain);
}

int policy_match_line(struct policy_parser *p, unsigned line, const char *name, const char *value)
{
	const struct match_key *key = find_key(name);
	_cleanup_(strv_freep) char **words = NULL;
	_cleanup_free_ char *closed = NULL;
	int r;

	if (!key) {
		report_unknown_key(p, line, name);
		return 0;
	}
	closed = close_up_signs(value);
	if (!closed)
		return -ENOMEM;
	r = strv_split(closed, &words);
	if (r < 0)
		return r;
	/* First the form alone: a line is checked also where it is not needed or nothing is known of the machine. */
	r = test_line(p, line, key, words, NULL);
	if (r < 0)
		return r == -EINVAL ? 0 : r;
	if (!p->facts || !p->matched)
		return 0;

	if (p->io) {
		r = facts_probe(p->facts, p->io, key->groups);
		if (r < 0)
			return r;
	}
	r = test_line(p, line, key, words, p->facts);
	if (r != 0)
		return r > 0 || r == -EINVAL ? 0 : r;
	p->matched = false;
	p->match_reason = false_reason(key, p->facts, value);
	return p->match_reason ? 0 : -ENOMEM;
}
