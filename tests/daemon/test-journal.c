/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/journal.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/unit/temp-dir.h"

/* Standard error is a file here. */

static const struct journal_fields fields = {
	.tunable = "vm.swappiness",
	.old_value = "60",
	.new_value = "10",
	.file = "/etc/x.conf",
	.line = 3,
	.writer_pid = 7,
	.writer_comm = "evil\nMESSAGE=x",
};

/* What is printed while stderr is a new file.  stream: JOURNAL_STREAM, "own" for that file, NULL for none. */
static char *printed(const char *stream, void (*say)(void))
{
	_cleanup_fclose_ FILE *f = tmpfile();
	int saved = dup(STDERR_FILENO);
	struct stat st;
	char own[64], *text;

	assert_non_null(f);
	assert_true(saved >= 0);
	assert_int_equal(fstat(fileno(f), &st), 0);
	snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	if (stream)
		setenv("JOURNAL_STREAM", streq(stream, "own") ? own : stream, 1);
	else
		unsetenv("JOURNAL_STREAM");
	assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
	errno = ENXIO;
	say();
	assert_int_equal(errno, ENXIO);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	unsetenv("JOURNAL_STREAM");
	rewind(f);
	assert_int_equal(read_fd(fileno(f), 0, &text, NULL), 0);
	return text;
}

static void prints(const char *stream, void (*say)(void), const char *want)
{
	_cleanup_free_ char *text = printed(stream, say);

	assert_string_equal(text, want);
}

static void say_each_priority(void)
{
	journal(LOG_ERR, EVENT_APPLY_FAILED, NULL, "a %d", 1);
	journal(LOG_WARNING, EVENT_DRIFT, &fields, "b");
	journal(LOG_NOTICE, EVENT_NONE, NULL, "c");
	journal(LOG_INFO, EVENT_ITEM, &fields, "d");
	journal(LOG_DEBUG, EVENT_NONE, NULL, "e");
}

static void say_bad_text(void)
{
	journal(LOG_INFO, EVENT_NONE, NULL, "a\nb\x1b[2J %s", "\xff\xc3\xa9");
}

static void say_messages(void)
{
	struct diag_list list = { 0 };

	diag_add(&list, DIAG_ERROR, "/etc/a.conf", 3, "vm.x", "is bad");
	diag_add(&list, DIAG_WARNING, "/etc/a.conf", 0, NULL, "is odd");
	diag_add(&list, DIAG_NOTICE, NULL, 0, NULL, "all right");
	journal_diags(EVENT_POLICY_REJECTED, &list);
	journal_diags(EVENT_CONFIGURATION, &list);
	diag_list_clear(&list);
}

static void a_person_gets_one_line_each(void **state)
{
	static const char want[] =
		"test-journal: error: a 1\ntest-journal: warning: b\ntest-journal: c\ntest-journal: d\n";

	prints(NULL, say_each_priority, want);
	/* The journal is there, but standard error was sent elsewhere. */
	prints("1:2", say_each_priority, want);
	prints("nonsense", say_each_priority, want);
}

static void text_is_one_line_whatever_is_in_it(void **state)
{
	prints(NULL, say_bad_text, "test-journal: a\\x0ab\\x1b[2J \\xff\xc3\xa9\n");
}

static void messages_keep_their_severity(void **state)
{
	static const char want[] = "test-journal: error: /etc/a.conf:3: vm.x: is bad\n"
				   "test-journal: warning: /etc/a.conf: is odd\n"
				   "test-journal: all right\n"
				   "test-journal: error: /etc/a.conf:3: vm.x: is bad\n"
				   "test-journal: warning: /etc/a.conf: is odd\n"
				   "test-journal: all right\n";

	prints(NULL, say_messages, want);
}

/* Puts an empty /run in the place of the machine's, for this process alone.  False where that needs more privilege. */
static bool own_run(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0)
		return false;
	assert_int_equal(mkdir_p_at(AT_FDCWD, "/run/systemd/journal", 0755), 0);
	return true;
}

/* A journal of our own, at libsystemd's fixed path.  Its socket, or -EPERM. */
static int journal_socket(void)
{
	static const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket" };
	int fd;

	if (!own_run())
		return -EPERM;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* The next entry, in the form of the native journal protocol: one field a line. */
static void receives(int fd, const char *want)
{
	char entry[4096];
	ssize_t n = recv(fd, entry, sizeof(entry) - 1, 0);

	assert_true(n >= 0);
	entry[n] = '\0';
	assert_string_equal(entry, want);
}

static void the_journal_gets_the_fields(void **state)
{
	_cleanup_close_ int fd = journal_socket();
	_cleanup_free_ char *text = NULL, *messages = NULL;

	if (fd < 0)
		skip();
	text = printed("own", say_each_priority);
	assert_string_equal(text, "");
	receives(fd, "MESSAGE=a 1\nPRIORITY=3\nMESSAGE_ID=2ae2211d42e64016ad365cf4b5530dd6\n"
		     "SYSLOG_IDENTIFIER=test-journal\nOBJECT_SYSTEMD_UNIT=test-journal.service\n");
	receives(
		fd,
		"MESSAGE=b\nPRIORITY=4\nMESSAGE_ID=acebc0aa2639472ba750974ec7955ae7\n"
		"MMOPT_TUNABLE=vm.swappiness\nOLD_VALUE=60\nNEW_VALUE=10\nCONFIG_FILE=/etc/x.conf\nCONFIG_LINE=3\n"
		"MMOPT_WRITER_PID=7\nMMOPT_WRITER_COMM=evil\\x0aMESSAGE=x\nSYSLOG_IDENTIFIER=test-journal\nOBJECT_SYSTEMD_UNIT=test-journal.service\n");
	receives(fd,
		 "MESSAGE=c\nPRIORITY=5\nSYSLOG_IDENTIFIER=test-journal\nOBJECT_SYSTEMD_UNIT=test-journal.service\n");
	receives(
		fd,
		"MESSAGE=d\nPRIORITY=6\nMESSAGE_ID=5a717384501b45d382e3313bd4fdb977\n"
		"MMOPT_TUNABLE=vm.swappiness\nOLD_VALUE=60\nNEW_VALUE=10\nCONFIG_FILE=/etc/x.conf\nCONFIG_LINE=3\n"
		"MMOPT_WRITER_PID=7\nMMOPT_WRITER_COMM=evil\\x0aMESSAGE=x\nSYSLOG_IDENTIFIER=test-journal\nOBJECT_SYSTEMD_UNIT=test-journal.service\n");
	receives(fd,
		 "MESSAGE=e\nPRIORITY=7\nSYSLOG_IDENTIFIER=test-journal\nOBJECT_SYSTEMD_UNIT=test-journal.service\n");

	messages = printed("own", say_messages);
	assert_string_equal(messages, "");
	receives(
		fd,
		"MESSAGE=/etc/a.conf:3: vm.x: is bad\nPRIORITY=3\nMESSAGE_ID=3c8debe668824042b9b07bcf8385b9bc\n"
		"MMOPT_TUNABLE=vm.x\nCONFIG_FILE=/etc/a.conf\nCONFIG_LINE=3\nSYSLOG_IDENTIFIER=test-journal\nOBJECT_SYSTEMD_UNIT=test-journal.service\n");
	receives(fd,
		 "MESSAGE=/etc/a.conf: is odd\nPRIORITY=4\nMESSAGE_ID=3c8debe668824042b9b07bcf8385b9bc\n"
		 "CONFIG_FILE=/etc/a.conf\nSYSLOG_IDENTIFIER=test-journal\nOBJECT_SYSTEMD_UNIT=test-journal.service\n");
	receives(fd, "MESSAGE=all right\nPRIORITY=5\nMESSAGE_ID=3c8debe668824042b9b07bcf8385b9bc\n"
		     "SYSLOG_IDENTIFIER=test-journal\nOBJECT_SYSTEMD_UNIT=test-journal.service\n");
	/* A key of mmoptd.conf is no tunable. */
	receives(
		fd,
		"MESSAGE=/etc/a.conf:3: vm.x: is bad\nPRIORITY=3\nMESSAGE_ID=739e6ca6e6ca4e288d80f9dc792ee8c7\n"
		"CONFIG_FILE=/etc/a.conf\nCONFIG_LINE=3\nSYSLOG_IDENTIFIER=test-journal\nOBJECT_SYSTEMD_UNIT=test-journal.service\n");
}

/* Where it does not answer, the stream to it has to do, with the priority in front. */
static void the_stream_stands_in_for_the_journal(void **state)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -EBADF;

	if (!own_run())
		skip();
	fd = creat("/run/systemd/journal/socket", 0600);
	assert_true(fd >= 0);
	text = printed("own", say_each_priority);
	assert_string_equal(text, "<3>a 1\n<4>b\n<5>c\n<6>d\n<7>e\n");
}

static void ids_are_ids_and_differ(void **state)
{
	assert_null(event_message_id(EVENT_NONE));
	for (int i = EVENT_NONE + 1; i <= EVENT_CONFIGURATION; i++) {
		const char *id = event_message_id((enum event)i);

		assert_non_null(id);
		assert_int_equal(strlen(id), 32);
		assert_int_equal(strspn(id, "0123456789abcdef"), 32);
		for (int k = EVENT_NONE + 1; k < i; k++)
			assert_string_not_equal(id, event_message_id((enum event)k));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_person_gets_one_line_each),
		cmocka_unit_test(text_is_one_line_whatever_is_in_it),
		cmocka_unit_test(messages_keep_their_severity),
		cmocka_unit_test(the_journal_gets_the_fields),
		cmocka_unit_test(the_stream_stands_in_for_the_journal),
		cmocka_unit_test(ids_are_ids_and_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
