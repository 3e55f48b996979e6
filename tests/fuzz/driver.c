/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "fuzz.h"

/* Runs a fuzz target over kept inputs, files and directories of them, where there is no libFuzzer to do it. */

static int run_file(const char *path)
{
	_cleanup_free_ char *text = NULL, *exact = NULL;
	size_t size;
	int r = read_file_at(AT_FDCWD, path, 0, &text, &size);

	if (r < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
		return r;
	}
	/* Of exactly this size, so that a sanitizer sees a read beyond it. */
	exact = malloc(size ?: 1);
	if (!exact)
		return -ENOMEM;
	memcpy(exact, text, size);
	return LLVMFuzzerTestOneInput((const uint8_t *)exact, size);
}

static int run_directory(const char *path, unsigned *n)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct dirent *de;

	if (!dir) {
		fprintf(stderr, "%s: %m\n", path);
		return -errno;
	}
	while ((de = readdir(dir))) {
		_cleanup_free_ char *file = NULL;
		int r;

		if (de->d_name[0] == '.')
			continue;
		file = xasprintf("%s/%s", path, de->d_name);
		r = file ? run_file(file) : -ENOMEM;
		if (r < 0)
			return r;
		(*n)++;
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned n = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		int r;

		if (stat(argv[i], &st) >= 0 && S_ISDIR(st.st_mode)) {
			r = run_directory(argv[i], &n);
		} else {
			r = run_file(argv[i]);
			n++;
		}
		if (r < 0)
			return EXIT_FAILURE;
	}
	printf("%u inputs\n", n);
	/* A test over an empty corpus would prove nothing. */
	return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
