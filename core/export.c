/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/export.h"

#include <stdio.h>

#include "base/number.h"
#include "base/strutil.h"

#define SYSCTL_BASE "/proc/sys/"
#define SYSCTL_FILE "/etc/sysctl.d/90-mmopt.conf"
#define TMPFILES_FILE "/etc/tmpfiles.d/90-mmopt.conf"
/* Characters that GRUB, shells and the kernel leave alone; blank and "=" are between and in tokens. */
#define SAFE " =_.,:/+@%-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define GRUB_FILE "/etc/default/grub.d/90-mmopt.cfg"

#define BAD_CHARACTERS "its value has characters that do not get through a boot loader as they are"

/* Where a value goes to. */
enum part {
	PART_SYSCTL, /* below /proc/sys */
	PART_FILE,   /* any other file of the kernel */
	PART_BOOT,
};

struct item {
	enum part part;
	unsigned order;
	char *target; /* path, or the tokens of the command line */
	char *value;  /* NULL for the command line */
	bool optional;
};

struct export
{
	const struct policy *policy;
	const struct plan *plan; /* or NULL */
	enum export_format format;
	struct diag_list *diags;
	struct item *items;
	size_t n;
};

static void clear(struct export *x)
{
	for (size_t i = 0; i < x->n; i++) {
		free(x->items[i].target);
		free(x->items[i].value);
	}
	free(x->items);
}

static bool has_part(enum export_format format, enum part part)
{
	switch (format) {
	case EXPORT_ANSIBLE:
		return true;
	case EXPORT_BOOTC_KARGS:
	case EXPORT_GRUB:
	case EXPORT_KERNEL_CMDLINE:
		return part == PART_BOOT;
	case EXPORT_SYSCTL_D:
		return part == PART_SYSCTL;
	case EXPORT_TMPFILES:
		return part == PART_FILE;
	case _EXPORT_FORMAT_MAX:
		break;
	}
	return false;
}

static void leave_out(struct export *x, const struct setting *s, const char *why)
{
	diag_add(x->diags, DIAG_WARNING, x->policy->files[s->file].path, s->line, s->id, "left out: %s", why);
}

/* Canonical, or NULL where it is left out, which is told. 0 or -ENOMEM. */
static int value_of(struct export *x, const struct setting *s, char **ret)
{
	const struct step *step = x->plan ? plan_find(x->plan, s->id) : NULL;

	if (s->relation != RELATION_EQUAL) {
		leave_out(x, s,
			  s->relation == RELATION_AT_LEAST
				  ? "this format cannot say \"at least\", and the plain value would lower a higher one"
				  : "this format cannot say \"at most\", and the plain value would raise a lower one");
		return 0;
	}
	if (step && step->action == STEP_REFUSE) {
		leave_out(x, s, step->reason ?: "it is refused here");
		return 0;
	}
	if (s->form == SETTING_VALUE) {
		*ret = strdup(s->value.text);
	} else if (s->form == SETTING_BYTES && s->ref.size_bytes) {
		*ret = xasprintf("%llu", (unsigned long long)(s->bytes / s->ref.size_bytes));
	} else if (!x->plan) {
		leave_out(x, s, "depends on the machine; --resolve takes what it comes to on this one");
		return 0;
	} else if (step && step->wanted) {
		*ret = strdup(step->wanted);
	} else {
		leave_out(x, s, step && step->reason ? step->reason : "what it comes to here is not known");
		return 0;
	}
	return *ret ? 0 : -ENOMEM;
}

/* ASCII on one line, which every parser and each locale takes as it stands; whether a plain char has a sign must not matter. */
static bool is_plain(const char *value)
{
	for (const char *s = value; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
			return false;
	return *value != '\0' && *value != ' ';
}

static bool is_safe(const char *tokens)
{
	return tokens[strspn(tokens, SAFE)] == '\0';
}

/* What a boot loader, or a script that makes its files, could take for something of its own. */
static const char *why_not_on_line(const struct export *x, const char *tokens)
{
	if (is_safe(tokens))
		return NULL;
	/* The tasks make a file for GRUB. */
	if (x->format != EXPORT_GRUB && x->format != EXPORT_ANSIBLE && !strpbrk(tokens, "\"'\\$`\t\n"))
		return NULL;
	return BAD_CHARACTERS;
}

static int boot_item(struct export *x, const struct setting *s, const char *value, struct item *item)
{
	_cleanup_free_ char *tokens = tunable_boot_token(&s->ref, value);
	const char *why;

	if (!tokens)
		return -ENOMEM;
	/* A blank would make two parameters of it. */
	why = strchr(value, ' ') ? BAD_CHARACTERS : why_not_on_line(x, tokens);
	if (why) {
		leave_out(x, s, why);
		return 0;
	}
	item->target = TAKE_PTR(tokens);
	return 0;
}

/* apply lets a larger pool be, unless told otherwise; a file that is written to cannot. */
static void warn_of_pool(struct export *x, const struct setting *s)
{
	const struct setting *shrink = policy_find(x->policy, "hugetlb.shrink");
	bool may_shrink = shrink && shrink->form == SETTING_VALUE && streq(shrink->value.text, "1");

	if (s->ref.tunable->effect == EFFECT_POOL && !may_shrink)
		diag_add(x->diags, DIAG_WARNING, x->policy->files[s->file].path, s->line, s->id,
			 "apply would leave a larger pool as it is, this file shrinks it");
}

/* Leaves item->target NULL where there is nothing to write. 0 or -ENOMEM. */
static int make_item(struct export *x, const struct setting *s, struct item *item)
{
	_cleanup_free_ char *path = NULL, *value = NULL;
	int r;

	item->order = s->ref.tunable->order;
	item->optional = s->optional;
	if (s->ref.tunable->scope == SCOPE_BOOT) {
		item->part = PART_BOOT;
	} else {
		path = tunable_ref_path(&s->ref);
		if (!path)
			return s->ref.tunable->path || s->ref.raw_path ? -ENOMEM : 0;
		item->part = startswith(path, SYSCTL_BASE) ? PART_SYSCTL : PART_FILE;
	}
	if (!has_part(x->format, item->part))
		return 0;
	r = value_of(x, s, &value);
	if (r < 0 || !value)
		return r;
	if (!is_plain(value)) {
		leave_out(x, s, "its value has characters that do not get through a text file as they are");
		return 0;
	}
	if (item->part == PART_BOOT)
		return boot_item(x, s, value, item);
	warn_of_pool(x, s);
	item->target = TAKE_PTR(path);
	item->value = TAKE_PTR(value);
	return 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return strcmp(x->target, y->target);
}

static int collect(struct export *x)
{
	x->items = calloc(x->policy->n_settings + 1, sizeof(*x->items));
	if (!x->items)
		return -ENOMEM;
	for (size_t i = 0; i < x->policy->n_settings; i++) {
		const struct setting *s = &x->policy->settings[i];
		int r;

		if (!s->wins || s->form == SETTING_KEEP)
			continue;
		if (s->ref.tunable->scope == SCOPE_DAEMON) {
			if (x->format == EXPORT_ANSIBLE)
				leave_out(x, s, "it takes a running mmoptd");
			continue;
		}
		r = make_item(x, s, &x->items[x->n]);
		if (r < 0)
			return r;
		if (x->items[x->n].target)
			x->n++;
	}
	qsort(x->items, x->n, sizeof(*x->items), compare_items);
	return 0;
}

static size_t count(const struct export *x, enum part part)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++)
		n += x->items[i].part == part;
	return n;
}

/* "vm.swappiness"; with slashes where a part of the path has a dot in it ("net/ipv4/conf/eth0.100/rp_filter"). */
static void write_key(FILE *f, const char *path)
{
	bool dots = !strchr(path, '.');

	for (const char *s = path + strlen(SYSCTL_BASE); *s; s++)
		fputc(*s == '/' && dots ? '.' : *s, f);
}

static void write_sysctls(FILE *f, const struct export *x, const char *indent)
{
	for (size_t i = 0; i < x->n; i++) {
		if (x->items[i].part != PART_SYSCTL)
			continue;
		fprintf(f, "%s%s", indent, x->items[i].optional ? "-" : "");
		write_key(f, x->items[i].target);
		fprintf(f, " = %s\n", x->items[i].value);
	}
}

/* tmpfiles.d(5): specifiers and C escapes are expanded in the argument. */
static void write_tmpfiles(FILE *f, const struct export *x, const char *indent)
{
	for (size_t i = 0; i < x->n; i++) {
		if (x->items[i].part != PART_FILE)
			continue;
		fprintf(f, "%sw!%s %s - - - - ", indent, x->items[i].optional ? "-" : "", x->items[i].target);
		for (const char *s = x->items[i].value; *s; s++) {
			if (*s == '%' || *s == '\\')
				fputc(*s, f);
			fputc(*s, f);
		}
		fputc('\n', f);
	}
}

static void write_tokens(FILE *f, const struct export *x)
{
	const char *separator = "";

	for (size_t i = 0; i < x->n; i++)
		if (x->items[i].part == PART_BOOT) {
			fprintf(f, "%s%s", separator, x->items[i].target);
			separator = " ";
		}
}

static void write_kargs(FILE *f, const struct export *x)
{
	const char *separator = "";

	fputs("kargs = [", f);
	for (size_t i = 0; i < x->n; i++) {
		/* A size and its count are two arguments, in this order. */
		for (const char *s = x->items[i].target; *s;) {
			size_t n = strcspn(s, " ");

			fprintf(f, "%s\"%.*s\"", separator, (int)n, s);
			separator = ", ";
			s += n + strspn(s + n, " ");
		}
	}
	fputs("]\n", f);
}

static void write_grub(FILE *f, const struct export *x, const char *indent)
{
	fprintf(f, "%sGRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT:+$GRUB_CMDLINE_LINUX_DEFAULT }",
		indent);
	write_tokens(f, x);
	fputs("\"\n", f);
}

static void write_copy(FILE *f, const char *name, const char *path)
{
	fprintf(f,
		"- name: \"%s\"\n  ansible.builtin.copy:\n    dest: %s\n    mode: \"0644\"\n    content: !unsafe |\n",
		name, path);
}

static void write_handler(FILE *f, const char *variable, const char *name, const char *command, const char *when)
{
	fprintf(f, "  register: %s\n%s- name: \"%s\"\n  ansible.builtin.command: %s\n  when: %s is changed\n", variable,
		when, name, command, variable);
}

static void write_ansible(FILE *f, const struct export *x)
{
	if (count(x, PART_SYSCTL) > 0) {
		write_copy(f, "sysctls, at each boot", SYSCTL_FILE);
		write_sysctls(f, x, "      ");
		write_handler(f, "mmopt_sysctl", "sysctls, now", "/usr/lib/systemd/systemd-sysctl " SYSCTL_FILE, "");
	}
	if (count(x, PART_FILE) > 0) {
		write_copy(f, "kernel files, at each boot", TMPFILES_FILE);
		write_tmpfiles(f, x, "      ");
		write_handler(f, "mmopt_tmpfiles", "kernel files, now",
			      "systemd-tmpfiles --create --boot " TMPFILES_FILE, "");
	}
	if (count(x, PART_BOOT) > 0) {
		fputs("# For other boot loaders: mmoptctl export --format=kernel-cmdline, bootc-kargs.\n", f);
		write_copy(f, "kernel parameters, from the next boot on", GRUB_FILE);
		write_grub(f, x, "      ");
		write_handler(f, "mmopt_grub", "GRUB's menu", "update-grub",
			      "  when: ansible_facts.os_family == \"Debian\"\n");
	}
	if (x->n == 0)
		fputs("[]\n", f);
}

static void write_heading(FILE *f, const struct export *x)
{
	fprintf(f, "# Made by mmoptctl export --format=%s%s from:\n", export_format_names[x->format],
		x->plan ? " --resolve" : "");
	for (size_t i = 0; i < x->policy->n_files; i++) {
		const struct policy_file *file = &x->policy->files[i];

		if (!file->matched || file->masked || file->masked_by)
			continue;
		fputs("#   ", f);
		for (const char *s = file->path; *s; s++)
			fputc(*s > 0 && *s < 0x20 ? '?' : *s, f);
		fputc('\n', f);
	}
}

static void write_all_of(FILE *f, const struct export *x)
{
	if (x->format != EXPORT_KERNEL_CMDLINE)
		write_heading(f, x);
	switch (x->format) {
	case EXPORT_ANSIBLE:
		write_ansible(f, x);
		break;
	case EXPORT_BOOTC_KARGS:
		write_kargs(f, x);
		break;
	case EXPORT_GRUB:
		if (x->n > 0)
			write_grub(f, x, "");
		break;
	case EXPORT_KERNEL_CMDLINE:
		write_tokens(f, x);
		fputc('\n', f);
		break;
	case EXPORT_SYSCTL_D:
		write_sysctls(f, x, "");
		break;
	case EXPORT_TMPFILES:
		write_tmpfiles(f, x, "");
		break;
	case _EXPORT_FORMAT_MAX:
		break;
	}
}

/* [Match] is decided here, which may not be where the file goes to. */
static void tell_what_does_not_count(struct export *x)
{
	for (size_t i = 0; i < x->policy->n_files; i++) {
		const struct policy_file *file = &x->policy->files[i];

		if (!file->matched && !file->masked && !file->masked_by)
			diag_add(x->diags, DIAG_NOTICE, file->path, 0, NULL, "does not count here: %s",
				 file->match_reason ?: "its [Match] does not hold");
	}
}

int export_policy(const struct policy *policy, const struct plan *plan, enum export_format format,
		  struct diag_list *diags, char **ret)
{
	struct export x = { .policy = policy, .plan = plan, .format = format, .diags = diags };
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f;
	int r;

	r = collect(&x);
	f = r < 0 ? NULL : open_memstream(&text, &size);
	if (f)
		write_all_of(f, &x);
	if (!f || fclose(f) != 0)
		r = -ENOMEM;
	tell_what_does_not_count(&x);
	if (r >= 0 && x.n == 0)
		diag_notice(diags, "the policy asks for nothing that %s can say", export_format_names[format]);
	clear(&x);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(text);
	return 0;
}
