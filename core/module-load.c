/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "base/clock.h"
#include "base/program.h"
#include "base/strutil.h"
#include "core/module.h"

/* It takes milliseconds; a machine that swaps may need longer. */
#define MODPROBE_TIMEOUT_USEC (30 * USEC_PER_SEC)

/* What people can do about an error that the kernel gives for a module. */
static const struct {
	const char *text; /* as strerror(3) has it in the C locale */
	const char *hint;
} hints[] = {
	{ "Operation not permitted", "kernel lockdown or a security module forbids it: journalctl -k" },
	{ "Key was rejected by service", "it is signed with a key that this kernel does not trust: mokutil --import" },
	{ "Required key not available", "it is signed with a key that this kernel does not trust: mokutil --import" },
	{ "Exec format error", "it was built for another kernel: dkms autoinstall" },
	{ "Invalid argument", "it was built for another kernel: dkms autoinstall" },
	{ "Unknown symbol in module", "it was built for another kernel: dkms autoinstall" },
	{ "not found in directory", "apt install " MODULE_PACKAGE ", and the headers of this kernel; or depmod -a" },
};

/*
 * Cuts the text down to the last line of modprobe's that says what went wrong, without the program's name in front.
 */
static char *last_line(char *text)
{
	static const char *const prefixes[] = { "modprobe: FATAL: ", "modprobe: ERROR: " };
	char *line;

	text = strstrip(text);
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (startswith(line, prefixes[i]))
			line += strlen(prefixes[i]);
	return line;
}

static char *explain_modprobe(char *errors)
{
	const char *line = last_line(errors);

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
		if (strstr(line, hints[i].text))
			return xasprintf("modprobe: %s (%s)", line, hints[i].hint);
	return *line ? xasprintf("modprobe: %s", line) : NULL;
}

/* The kernel's log from now on; negative where it cannot be read, which is no error. */
static int open_kernel_log(const char *path)
{
	_cleanup_close_ int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -EBADF;

	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0)
		return -EBADF;
	return TAKE_FD(fd);
}

/* One line of the kernel's log, "priority,number,time,flags;text": what it says of the module, or NULL. */
static char *said_of_module(const char *line, size_t n)
{
	const char *end = line + n, *text = memchr(line, ';', n);

	text = text ? startswith(text + 1, MODULE_NAME ": ") : NULL;
	return text && text < end ? strndup(text, (size_t)(end - text)) : NULL;
}

/*
 * What was said of the module last, by itself or by the kernel's loader (Documentation/ABI/testing/dev-kmsg in the
 * kernel's tree: one record for each read(2)).  NULL where nothing was.
 */
static char *read_kernel_log(int fd)
{
	char record[8192], *last = NULL;
	ssize_t n;

	while (fd >= 0 && ((n = read(fd, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE))) {
		record[MAX(n, (ssize_t)0)] =
			'\0'; /* EPIPE: overwritten before it was read, on to those that are there */
		for (const char *line = record; *line; line += strcspn(line, "\n"), line += *line == '\n') {
			_cleanup_free_ char *said = said_of_module(line, strcspn(line, "\n"));

			/* That it taints the kernel is said of each module from outside the kernel's tree. */
			if (!said || strstr(said, "taint"))
				continue;
			free(last);
			last = TAKE_PTR(said);
		}
	}
	return last;
}

static char *explain_start(const char *modprobe, int error)
{
	if (error == -ETIMEDOUT)
		return xasprintf("%s did not come to an end within %llu s", modprobe,
				 MODPROBE_TIMEOUT_USEC / USEC_PER_SEC);
	if (error == -EINTR)
		return xasprintf("%s was killed", modprobe);
	return xasprintf("%s cannot be run: %s", modprobe, strerror(-error));
}

int module_load(struct kernel_io *io, struct facts *facts, const char *modprobe, const char *kernel_log,
		char **ret_reason)
{
	char *const argv[] = { (char *)modprobe, (char *)MODULE_NAME, NULL };
	_cleanup_close_ int log_fd = open_kernel_log(kernel_log);
	_cleanup_free_ char *errors = NULL, *said = NULL;
	bool hidden;
	int r;

	*ret_reason = NULL;
	r = module_obstacle(io, facts, &hidden, ret_reason);
	if (r < 0 || *ret_reason)
		return r;
	r = run_program(argv, MODPROBE_TIMEOUT_USEC, &errors);
	if (r == 0 || r == -ENOMEM)
		return r;
	if (r > 0)
		said = read_kernel_log(log_fd);
	if (said)
		*ret_reason = xasprintf("the kernel's log says of it: %s", said);
	else if (r > 0)
		*ret_reason = explain_modprobe(errors) ?: xasprintf("%s failed with exit status %d", modprobe, r);
	else
		*ret_reason = explain_start(modprobe, r);
	return *ret_reason ? 0 : -ENOMEM;
}
