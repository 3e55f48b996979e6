/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/module.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fields.h"
#include "base/fileio.h"
#include "base/strutil.h"
#include "core/state-dir.h"

#define NOTE_FILE "module"
/* Its first field; another program's format is not guessed at. */
#define HEADER "mmopt-module 1"
#define MAX_BYTES (64U << 10)

static const char *const state_names[] = {
	[MODULE_UNTRIED] = "untried",
	[MODULE_LEFT] = "left",
	[MODULE_REFUSED] = "refused",
};

void module_note_clear(struct module_note *note)
{
	free(note->reason);
	*note = (struct module_note){};
}

/* One line: header, state, reason.  Anything else counts as no note. */
static int parse(char *line, struct module_note *ret)
{
	char *f[3];

	line[strcspn(line, "\n")] = '\0';
	if (split_fields(line, f, 3) != 3 || !streq(f[0], HEADER))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++) {
		if (!streq(f[1], state_names[i]))
			continue;
		ret->reason = strdup(f[2]);
		if (!ret->reason)
			return -ENOMEM;
		ret->state = (enum module_state)i;
	}
	return 0;
}

int module_note_read(int root_fd, struct module_note *ret)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	struct stat st;
	int r;

	*ret = (struct module_note){};
	fd = open_in_root(root_fd, STATE_DIR "/" NOTE_FILE, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || check_trusted(fd) < 0)
		return 0;
	r = read_fd(fd, MAX_BYTES, &text, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return parse(text, ret);
}

static int format(enum module_state state, const char *reason, char **ret, size_t *ret_size)
{
	FILE *f = open_memstream(ret, ret_size);

	if (!f)
		return -ENOMEM;
	fputs(HEADER, f);
	put_field(f, state_names[state]);
	put_field(f, reason ?: "");
	fputc('\n', f);
	return fclose(f) != 0 ? -ENOMEM : 0;
}

int module_note_write(int root_fd, enum module_state state, const char *reason)
{
	_cleanup_close_ int dir_fd = -EBADF;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r;

	r = state_dir_make(root_fd);
	if (r < 0)
		return r;
	dir_fd = open_in_root(root_fd, STATE_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (dir_fd < 0)
		return dir_fd;
	if (state == MODULE_UNTRIED)
		return unlinkat(dir_fd, NOTE_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;
	r = format(state, reason, &text, &size);
	return r < 0 ? r : replace_file_at(dir_fd, NOTE_FILE, text, size, 0644);
}
