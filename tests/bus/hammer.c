/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Many callers at once, and bad ones, for a mmoptd on the system bus; needs no privilege.
 *
 *   hammer [CLIENTS [CALLS]]      each of 200 connections calls Describe 50 times; every call has to be answered whole
 *   hammer --garbage [ROUNDS]     messages that make no sense; each has to get an error, and mmoptd has to go on
 *
 * The last line has the figures; the exit status is 1 where something was not as it should be.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "base/clock.h"
#include "base/fileio.h"
#include "base/number.h"
#include "base/strutil.h"

#define NAME "org.mmopt1"
#define PATH "/org/mmopt1"
#define INTERFACE "org.mmopt1.Manager"
#define PATIENCE_USEC (600 * USEC_PER_SEC)
/* What an allocator may keep after a burst; a leak of one small thing per call is more. */
#ifdef __SANITIZE_ADDRESS__
/* What was freed is held back for a while, in mmoptd too: both come of one build. */
#define GROWTH_KIB (16 * 1024)
#else
#define GROWTH_KIB 1024
#endif

struct hammer {
	sd_event *event;
	unsigned calls, answered, errors, running;
};

struct client {
	struct hammer *hammer;
	sd_bus *bus;
	unsigned left;
};

static void die(const char *what, int error)
{
	fprintf(stderr, "hammer: %s: %s\n", what, strerror(-error));
	exit(1);
}

static int check(const char *what, int r)
{
	if (r < 0)
		die(what, r);
	return r;
}

static sd_bus *connect_bus(void)
{
	sd_bus *bus = NULL;

	check("cannot connect to the system bus", sd_bus_open_system(&bus));
	return bus;
}

static pid_t pid_of_mmoptd(sd_bus *bus)
{
	sd_bus_message *reply = NULL;
	uint32_t pid = 0;
	int r;

	r = sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
			       "GetConnectionUnixProcessID", NULL, &reply, "s", NAME);
	check("no mmoptd on the bus", r);
	check("the bus", sd_bus_message_read(reply, "u", &pid));
	sd_bus_message_unref(reply);
	return (pid_t)pid;
}

/* VmRSS in KiB; 0 where the process is gone. */
static uint64_t memory_of(pid_t pid)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/status", pid), *text = NULL;
	const char *line;
	uint64_t kib = 0;

	if (!path || read_file_at(AT_FDCWD, path, 0, &text, NULL) < 0)
		return 0;
	line = strstr(text, "\nVmRSS:");
	return line && sscanf(line, "\nVmRSS: %" SCNu64, &kib) == 1 ? kib : 0;
}

/* Open descriptors; 0 where that may not be looked at. */
static unsigned descriptors_of(pid_t pid)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/fd", pid);
	_cleanup_closedir_ DIR *d = path ? opendir(path) : NULL;
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	return n;
}

static bool is_whole(int fd)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;

	return read_fd(fd, 0, &text, &size) >= 0 && size > 2 && text[0] == '{' && text[size - 2] == '}' &&
	       text[size - 1] == '\n';
}

static void call(struct client *c);

static int on_answer(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct client *c = userdata;
	struct hammer *h = c->hammer;
	const sd_bus_error *e = sd_bus_message_get_error(m);
	int fd, exit_status;

	if (!e && sd_bus_message_read(m, "hi", &fd, &exit_status) >= 0 && is_whole(fd)) {
		h->answered++;
	} else {
		h->errors++;
		fprintf(stderr, "hammer: %s\n", e ? e->message ?: e->name : "an answer that is not whole");
	}
	if (c->left > 0)
		call(c);
	else if (--h->running == 0)
		sd_event_exit(h->event, 0);
	return 0;
}

static void call(struct client *c)
{
	sd_bus_message *m = NULL;

	check("message", sd_bus_message_new_method_call(c->bus, &m, NAME, PATH, INTERFACE, "Describe"));
	check("message", sd_bus_message_append(m, "ssa{sv}", "status", "json", 0));
	check("cannot send", sd_bus_call_async(c->bus, NULL, m, on_answer, c, PATIENCE_USEC));
	sd_bus_message_unref(m);
	c->left--;
	c->hammer->calls++;
}

static void run(struct hammer *h, unsigned n_clients, unsigned n_calls)
{
	struct client *clients = calloc(n_clients, sizeof(*clients));

	if (!clients)
		die("clients", -ENOMEM);
	h->running = n_clients;
	check("event loop", sd_event_new(&h->event));
	for (unsigned i = 0; i < n_clients; i++) {
		clients[i] = (struct client){ .hammer = h, .bus = connect_bus(), .left = n_calls };
		check("event loop", sd_bus_attach_event(clients[i].bus, h->event, 0));
	}
	for (unsigned i = 0; i < n_clients; i++)
		call(&clients[i]);
	check("event loop", sd_event_loop(h->event));
	for (unsigned i = 0; i < n_clients; i++)
		sd_bus_flush_close_unref(clients[i].bus);
	sd_event_unref(h->event);
	free(clients);
}

/* A first round of the same, so that what is needed once is not taken for a leak. */
static int hammer(unsigned n_clients, unsigned n_calls)
{
	struct hammer first = {}, h = {};
	sd_bus *bus = connect_bus();
	pid_t pid = pid_of_mmoptd(bus);
	unsigned descriptors;
	uint64_t before, after, start;

	run(&first, n_clients, 2);
	before = memory_of(pid);
	descriptors = descriptors_of(pid);
	start = clock_usec(CLOCK_MONOTONIC);
	run(&h, n_clients, n_calls);
	after = memory_of(pid);
	printf("%u clients, %u calls, %u answered, %u errors, %.1f s; mmoptd: VmRSS %" PRIu64 " kB before, %" PRIu64
	       " kB after, descriptors %u before, %u after\n",
	       n_clients, h.calls, h.answered, first.errors + h.errors,
	       (double)(clock_usec(CLOCK_MONOTONIC) - start) / USEC_PER_SEC, before, after, descriptors,
	       descriptors_of(pid));
	if (pid_of_mmoptd(bus) != pid)
		return 1;
	sd_bus_flush_close_unref(bus);
	return h.answered != n_clients * n_calls || first.errors > 0 || after > before + GROWTH_KIB;
}

/* Numbers that are the same each time. */
static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static int append_garbage(sd_bus_message *m, uint32_t *state, unsigned depth);

static int append_in(sd_bus_message *m, char type, const char *contents, uint32_t *state, unsigned depth)
{
	int r = sd_bus_message_open_container(m, type, contents);

	if (r >= 0)
		r = append_garbage(m, state, depth);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

/* A variant with anything in it. */
static int append_garbage(sd_bus_message *m, uint32_t *state, unsigned depth)
{
	static const char *const words[] = { "", "id", "../../etc/shadow", "\x1b[2J", "%s%n%x", "true", "-1" };
	int r;

	switch (next_random(state) % (depth < 20 ? 8 : 6)) {
	case 0:
		return sd_bus_message_append(m, "v", "s", words[next_random(state) % ARRAY_SIZE(words)]);
	case 1:
		return sd_bus_message_append(m, "v", "t", (uint64_t)next_random(state) << 40);
	case 2:
		return sd_bus_message_append(m, "v", "h", STDIN_FILENO);
	case 3:
		return sd_bus_message_append(m, "v", "as", 3, "a", "b", "c");
	case 4:
		return sd_bus_message_append(m, "v", "(iid)", 1, 2, 0.5);
	case 5:
		return sd_bus_message_append(m, "v", "a{sv}", 1, "x", "b", 1);
	default:
		r = append_in(m, SD_BUS_TYPE_VARIANT, "v", state, depth + 1);
		return r;
	}
}

static int append_options(sd_bus_message *m, uint32_t *state)
{
	static const char *const names[] = { "width",  "colour", "id",	    "force", "bound", "policy",
					     "format", "",	 "what_if", "all",   "path",  "transaction" };
	unsigned n = next_random(state) % 4 + 1;
	int r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "{sv}");

	/* The first one is not known, whatever the method, so that the whole is an error. */
	if (r >= 0)
		r = sd_bus_message_append(m, "{sv}", "nonsense", "b", 1);
	for (unsigned i = 0; r >= 0 && i < n; i++) {
		r = sd_bus_message_open_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv");
		if (r >= 0)
			r = sd_bus_message_append(m, "s", names[next_random(state) % ARRAY_SIZE(names)]);
		if (r >= 0)
			r = append_garbage(m, state, 0);
		if (r >= 0)
			r = sd_bus_message_close_container(m);
	}
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_arguments(sd_bus_message *m, const char *method, uint32_t *state)
{
	bool describes = startswith(method, "Describe");
	int r;

	switch (next_random(state) % 4) {
	case 0: /* another signature */
		return append_garbage(m, state, 0);
	case 1: /* something more */
		r = describes ? sd_bus_message_append(m, "ssa{sv}", "status", "text", 0)
			      : sd_bus_message_append(m, "a{sv}", 0);
		return r < 0 ? r : append_garbage(m, state, 0);
	default:
		r = describes ? sd_bus_message_append(m, "ss", "status", "text") : 0;
		return r < 0 ? r : append_options(m, state);
	}
}

/* An error of the call is what has to come; no answer, or a good one, is a failure. */
static bool is_refused(sd_bus *bus, sd_bus_message *m)
{
	sd_bus_error e = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	bool refused;
	int r;

	r = sd_bus_call(bus, m, 30 * USEC_PER_SEC, &e, &reply);
	refused = r < 0 && sd_bus_error_is_set(&e) &&
		  !sd_bus_error_has_names(&e, SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_TIMEOUT, SD_BUS_ERROR_DISCONNECTED,
					  SD_BUS_ERROR_SERVICE_UNKNOWN);
	if (!refused)
		fprintf(stderr, "hammer: %s(%s): %s\n", sd_bus_message_get_member(m),
			sd_bus_message_get_signature(m, true), r < 0 ? e.message ?: strerror(-r) : "no error");
	sd_bus_error_free(&e);
	sd_bus_message_unref(reply);
	return refused;
}

static bool throw_garbage(sd_bus *bus, uint32_t *state)
{
	static const char *const methods[] = { "Describe", "DescribeInline", "Apply",  "Confirm",
					       "Rollback", "Verify",	     "Reload", "Nonsense" };
	const char *method = methods[next_random(state) % ARRAY_SIZE(methods)];
	const char *path = next_random(state) % 16 ? PATH : "/somewhere/else";
	sd_bus_message *m = NULL;
	bool refused;

	check("message", sd_bus_message_new_method_call(bus, &m, NAME, path, INTERFACE, method));
	check("message", append_arguments(m, method, state));
	refused = is_refused(bus, m);
	sd_bus_message_unref(m);
	return refused;
}

/* Far more than anybody has to say. */
static bool throw_much(sd_bus *bus, size_t size)
{
	char *text = malloc(size + 1);
	sd_bus_message *m = NULL;
	bool refused;

	if (!text)
		die("text", -ENOMEM);
	memset(text, 'x', size);
	text[size] = '\0';
	check("message", sd_bus_message_new_method_call(bus, &m, NAME, PATH, INTERFACE, "DescribeInline"));
	check("message", sd_bus_message_append(m, "ssa{sv}", "explain", "text", 1, "id", "s", text));
	refused = is_refused(bus, m);
	sd_bus_message_unref(m);
	free(text);
	return refused;
}

static int garbage(unsigned rounds)
{
	sd_bus *bus = connect_bus();
	pid_t pid = pid_of_mmoptd(bus);
	uint32_t state = 1;
	unsigned refused = 0, descriptors = descriptors_of(pid);
	uint64_t before;

	refused += throw_much(bus, 16 * 1024 * 1024);
	before = memory_of(pid);
	for (unsigned i = 1; i < rounds; i++)
		refused += i % 100 ? throw_garbage(bus, &state) : throw_much(bus, 4 * 1024 * 1024);
	printf("%u bad messages, %u refused; mmoptd: VmRSS %" PRIu64 " kB before, %" PRIu64
	       " kB after, descriptors %u before, %u after\n",
	       rounds, refused, before, memory_of(pid), descriptors, descriptors_of(pid));
	if (refused != rounds || pid_of_mmoptd(bus) != pid || descriptors_of(pid) > descriptors + 2 ||
	    memory_of(pid) > before + GROWTH_KIB)
		return 1;
	sd_bus_flush_close_unref(bus);
	return hammer(2, 2);
}

static unsigned number(const char *text, unsigned otherwise)
{
	uint64_t n;

	if (!text)
		return otherwise;
	if (parse_u64(text, &n) < 0 || n == 0 || n > 100000)
		die(text, -EINVAL);
	return (unsigned)n;
}

int main(int argc, char **argv)
{
	if (argc > 1 && streq(argv[1], "--garbage"))
		return garbage(number(argc > 2 ? argv[2] : NULL, 2000));
	return hammer(number(argc > 1 ? argv[1] : NULL, 200), number(argc > 2 ? argv[2] : NULL, 50));
}
