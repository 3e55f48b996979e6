/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/job.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/fileio.h"
#include "daemon/job-result.h"

/* Undoes what mmoptd's event loop did to this process, which is now another one. */
static void become_worker(pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have died before the line above. */
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* So that it can be told apart in ps(1) and in the journal. */
	prctl(PR_SET_NAME, "mmopt-worker");
}

/* Closes what the event loop and the bus have open: a lock on the undo record and sockets are not the child's. */
static void close_all_but(int a, int b)
{
	int low = MIN(a, b), high = MAX(a, b);

	if (low > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

static int leave_result(int fd, const struct job_result *result)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = job_result_format(result, &text, &size);

	return r < 0 ? r : write_all(fd, text, size);
}

_Noreturn static void work(const struct job_request *request, struct policy *policy, const struct job *job,
			   pid_t parent)
{
	struct job_result result = { .document_fd = job->document_fd };
	int r;

	become_worker(parent);
	close_all_but(job->document_fd, job->result_fd);
	r = job_run(request, policy, &result);
	if (r >= 0)
		r = leave_result(job->result_fd, &result);
	_exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

int job_start(const struct job_request *request, struct policy *policy, struct job *ret)
{
	_cleanup_close_ int document_fd = -EBADF, result_fd = -EBADF;
	struct job job;
	pid_t parent = getpid();

	document_fd = memfd_create("mmopt-document", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (document_fd < 0)
		return -errno;
	result_fd = memfd_create("mmopt-result", MFD_CLOEXEC);
	if (result_fd < 0)
		return -errno;
	job = (struct job){ .document_fd = document_fd, .result_fd = result_fd };
	/* What stdio holds would be written twice. */
	fflush(NULL);
	job.pid = fork();
	if (job.pid < 0)
		return -errno;
	if (job.pid == 0)
		work(request, policy, &job, parent);
	TAKE_FD(document_fd);
	TAKE_FD(result_fd);
	*ret = job;
	return 0;
}

int job_collect(struct job *job, bool exited, struct job_result *ret)
{
	_cleanup_close_ int document_fd = TAKE_FD(job->document_fd), result_fd = TAKE_FD(job->result_fd);
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r;

	if (!exited)
		return -EIO;
	if (lseek(result_fd, 0, SEEK_SET) < 0 || lseek(document_fd, 0, SEEK_SET) < 0)
		return -errno;
	r = read_fd(result_fd, 0, &text, &size);
	if (r >= 0)
		r = job_result_parse(text, size, ret);
	if (r < 0)
		return r;
	/* Read-only from now on, for whoever gets it. */
	if (fcntl(document_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	ret->document_fd = TAKE_FD(document_fd);
	return 0;
}
