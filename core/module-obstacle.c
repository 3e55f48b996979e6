/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What can be seen to stand against loading the module, before it is tried. */
#include "base/strutil.h"
#include "core/module.h"

/* The last bytes of a signed module (the kernel's include/linux/module_signature.h). */
#define SIGNATURE_MARK "~Module signature appended~\n"
#define FILE_NAME MODULE_NAME ".ko"

#define MODULES_DISABLED "/proc/sys/kernel/modules_disabled"
/* There where the kernel was built with CONFIG_DYNAMIC_FTRACE. */
#define FTRACE_ENABLED "/proc/sys/kernel/ftrace_enabled"
#define SIG_ENFORCE "/sys/module/module/parameters/sig_enforce"

static bool reads_as(struct kernel_io *io, const char *path, const char *word)
{
	_cleanup_free_ char *text = NULL;

	return kernel_io_read_line(io, path, &text) >= 0 && streq(text, word);
}

/* What this machine is, or was told at boot, and nobody can change now. 0 and *ret, or -ENOMEM. */
static int machine_obstacle(struct kernel_io *io, const struct facts *facts, char **ret)
{
	const char *arch = facts_word(facts, FACT_ARCHITECTURE), *container = facts_word(facts, FACT_CONTAINER);

	if (container && !streq(container, "none"))
		*ret = xasprintf("no module can be loaded from a container (%s): load it on the host", container);
	else if (arch && !streq(arch, "x86_64") && !streq(arch, "arm64"))
		*ret = xasprintf("the module is made for x86_64 and arm64, not for %s", arch);
	else if (!kernel_io_exists(io, MODULES_DISABLED))
		*ret = strdup("this kernel takes no modules (it was built without CONFIG_MODULES)");
	else if (!kernel_io_exists(io, FTRACE_ENABLED))
		*ret = strdup("this kernel cannot redirect a function (it was built without CONFIG_DYNAMIC_FTRACE)");
	else if (reads_as(io, MODULES_DISABLED, "1"))
		*ret = strdup("kernel.modules_disabled is 1: until the next boot this kernel takes no modules");
	else if (reads_as(io, FTRACE_ENABLED, "0"))
		*ret = strdup(
			"kernel.ftrace_enabled is 0, so no function can be redirected: sysctl kernel.ftrace_enabled=1");
	else if (kernel_io_exists(io, "/sys/module/" MODULE_NAME))
		*ret = strdup("the module is loaded, yet there is no " MODULE_SYSCTL ": modprobe -r " MODULE_NAME
			      ", then try again");
	else
		return 0;
	return *ret ? 0 : -ENOMEM;
}

/*
 * The path of the module in modules.dep(5), whose lines are "path: paths it needs".  0 and *ret, -ENOENT where it is
 * not there, -ENOMEM.
 */
static int find_file(const char *text, char **ret)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t n = strcspn(line, ":\n"), start = n;
		const char *end;

		while (start > 0 && line[start - 1] != '/')
			start--;
		end = startswith(line + start, FILE_NAME);
		/* ".ko:", or compressed: ".ko.xz:". */
		if (!end || end > line + n || (*end != ':' && *end != '.'))
			continue;
		*ret = strndup(line, n);
		return *ret ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

/* *ret_file: the module's file for the running kernel, or NULL.  *ret_hidden: a confined process cannot see it. */
static int file_obstacle(struct kernel_io *io, const char *release, char **ret_file, bool *ret_hidden, char **ret)
{
	_cleanup_free_ char *list = xasprintf("/lib/modules/%s/modules.dep", release), *text = NULL, *file = NULL;
	int r;

	*ret_file = NULL;
	if (!list)
		return -ENOMEM;
	r = kernel_io_read(io, list, &text, NULL);
	*ret_hidden = r == -EACCES || r == -EPERM;
	if (*ret_hidden)
		return 0;
	r = r < 0 ? r : find_file(text, &file);
	if (r == -ENOMEM)
		return r;
	if (r >= 0) {
		*ret_file = file[0] == '/' ? TAKE_PTR(file) : xasprintf("/lib/modules/%s/%s", release, file);
		return *ret_file ? 0 : -ENOMEM;
	}
	*ret = xasprintf("the module is not built for this kernel (not in %s): apt install " MODULE_PACKAGE
			 " linux-headers-%s",
			 list, release);
	return *ret ? 0 : -ENOMEM;
}

/* Who else than the kernel itself can know whether the key is one that it trusts: only what has no signature is told. */
static bool is_unsigned(struct kernel_io *io, const char *file)
{
	_cleanup_free_ char *data = NULL;
	size_t size, n = strlen(SIGNATURE_MARK);

	/* Of a compressed file the mark cannot be seen. */
	if (!endswith(file, ".ko") || kernel_io_read(io, file, &data, &size) < 0)
		return false;
	return size < n || memcmp(data + size - n, SIGNATURE_MARK, n) != 0;
}

static int signature_obstacle(struct kernel_io *io, const struct facts *facts, const char *file, char **ret)
{
	const char *lockdown = facts_word(facts, FACT_LOCKDOWN);
	bool locked = lockdown && !streq(lockdown, "none");

	if ((!locked && !reads_as(io, SIG_ENFORCE, "Y")) || !is_unsigned(io, file))
		return 0;
	if (locked)
		*ret = xasprintf(
			"the module is not signed, and kernel lockdown (%s) lets in signed modules only: have dkms "
			"sign it with a key enrolled by mokutil",
			lockdown);
	else
		*ret = strdup(
			"the module is not signed, and module.sig_enforce lets in signed modules only: have dkms sign it "
			"with a key enrolled by mokutil");
	return *ret ? 0 : -ENOMEM;
}

int module_obstacle(struct kernel_io *io, struct facts *facts, bool *ret_hidden, char **ret)
{
	_cleanup_free_ char *file = NULL, *reason = NULL;
	const char *release;
	int r;

	*ret_hidden = false;
	*ret = NULL;
	r = facts_probe(facts, io, FACTS_KERNEL | FACTS_VIRT | FACTS_CONFINEMENT);
	if (r >= 0)
		r = machine_obstacle(io, facts, &reason);
	release = facts_word(facts, FACT_RELEASE);
	if (r >= 0 && !reason && release)
		r = file_obstacle(io, release, &file, ret_hidden, &reason);
	if (r >= 0 && !reason && file)
		r = signature_obstacle(io, facts, file, &reason);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(reason);
	return 0;
}
