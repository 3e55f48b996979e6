/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trial whose caller leaves: taken back at once, or at mmoptd's end by what ends it. */
#include "tests/unit/test.h"

#include <fcntl.h>

#include "daemon/manager-internal.h"

static char root[64];
static unsigned recoveries;

void manager_submit_own(struct manager *m, const struct job_request *request)
{
	assert_int_equal(request->kind, JOB_RECOVER);
	recoveries++;
}

static int set_up(void **state)
{
	struct manager *m = calloc(1, sizeof(*m));

	if (!m || sd_event_new(&m->event) < 0)
		return -1;
	m->confirm_fd = -EBADF;
	snprintf(root, sizeof(root), "/tmp/test-manager-confirm.XXXXXX");
	m->root_fd = mkdtemp(root) ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (m->root_fd < 0 || manager_prepare_confirm(m) < 0)
		return -1;
	m->unconfirmed = 7;
	recoveries = 0;
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct manager *m = *state;

	manager_release_confirm(m);
	sd_event_source_unref(m->recover_timer);
	sd_event_unref(m->event);
	unlinkat(m->root_fd, "run/mmopt/confirm.lock", 0);
	unlinkat(m->root_fd, "run/mmopt", AT_REMOVEDIR);
	unlinkat(m->root_fd, "run", AT_REMOVEDIR);
	close(m->root_fd);
	rmdir(root);
	free(m);
	return 0;
}

static void the_caller_leaves(void **state)
{
	struct manager *m = *state;

	manager_caller_gone(m, 6);
	assert_int_equal(recoveries, 0);
	manager_caller_gone(m, 7);
	assert_int_equal(recoveries, 1);
	assert_int_equal(m->unconfirmed, 0);
	assert_true(m->confirm_fd < 0);
}

/* No job can be queued any more: what takes it back goes by this number. */
static void the_caller_leaves_at_the_end(void **state)
{
	struct manager *m = *state;

	m->stopping = true;
	manager_caller_gone(m, 7);
	assert_int_equal(m->unconfirmed, 7);
	assert_true(m->confirm_fd >= 0);
}

/* A worker has everything open that mmoptd has, until it has come to close it. */
static void a_new_worker_does_not_hold_the_lock(void **state)
{
	struct manager *m = *state;
	int in_worker = dup(m->confirm_fd);

	assert_true(in_worker >= 0);
	manager_caller_gone(m, 7);
	assert_int_equal(recoveries, 1);
	assert_int_equal(manager_prepare_confirm(m), 0);
	close(in_worker);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(the_caller_leaves),
		TEST(the_caller_leaves_at_the_end),
		TEST(a_new_worker_does_not_hold_the_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
