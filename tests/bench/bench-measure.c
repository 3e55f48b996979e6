/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that work for the same time, and what comes out of it. */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "tests/bench/bench.h"

static void sleep_usec(uint64_t usec)
{
	struct timespec t = { .tv_sec = (time_t)(usec / USEC_PER_SEC), .tv_nsec = (long)(usec % USEC_PER_SEC) * 1000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

static double cpu_sec(pid_t pid)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return 0;
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct sample {
	uint64_t operations;
	uint64_t usec;
	double cpu;
};

static struct sample sample(const struct bench_team *team, const pid_t *pids, unsigned n)
{
	struct sample s = { 0 };

	for (unsigned i = 0; i < n; i++) {
		s.operations += atomic_load(&team->slot[i].operations);
		s.cpu += cpu_sec(pids[i]);
	}
	s.usec = clock_usec(CLOCK_MONOTONIC);
	return s;
}

static pid_t start_worker(struct bench_team *team, unsigned index, bench_work work, void *data)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	atomic_fetch_add(&team->ready, 1);
	while (!atomic_load(&team->go))
		sched_yield();
	work(team, index, data);
	_exit(0);
}

/* The workers hang on to nothing: those that are there are killed before the failure is told. */
static void kill_all(const pid_t *pids, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

static void start_all(struct bench_team *team, pid_t *pids, unsigned n, bench_work work, void *data)
{
	for (unsigned i = 0; i < n; i++) {
		pids[i] = start_worker(team, i, work, data);
		if (pids[i] < 0) {
			int error = errno;

			kill_all(pids, i);
			bench_fail("cannot fork: %s", strerror(error));
		}
	}
	while (atomic_load(&team->ready) < n)
		sleep_usec(500);
	atomic_store(&team->go, true);
}

static void stop_all(struct bench_team *team, const pid_t *pids, unsigned n)
{
	unsigned failed = 0;
	int status;

	atomic_store(&team->stop, true);
	for (unsigned i = 0; i < n; i++)
		if (waitpid(pids[i], &status, 0) != pids[i] || status != 0)
			failed++;
	if (failed)
		bench_fail("%u of %u processes failed", failed, n);
}

struct bench_rate bench_run(unsigned n, uint64_t msec, bench_work work, void *data)
{
	struct bench_team *team = mmap(NULL, sizeof(*team), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sample from, to;
	pid_t pids[BENCH_MAX_PROCESSES];
	double operations, cpu;

	if (team == MAP_FAILED || n > BENCH_MAX_PROCESSES)
		bench_fail("cannot start %u processes", n);
	fflush(stdout);
	start_all(team, pids, n, work, data);
	sleep_usec(msec * USEC_PER_MSEC / 10);
	from = sample(team, pids, n);
	sleep_usec(msec * USEC_PER_MSEC);
	to = sample(team, pids, n);
	stop_all(team, pids, n);
	munmap(team, sizeof(*team));
	operations = (double)(to.operations - from.operations);
	cpu = to.cpu - from.cpu;
	return (struct bench_rate){
		.per_sec = operations * 1e6 / (double)(to.usec - from.usec),
		.per_cpu_sec = cpu > 0 ? operations / cpu : 0,
	};
}

void bench_add(struct bench_values *values, double v)
{
	double *more = realloc(values->v, (values->n + 1) * sizeof(*more));
	size_t i = values->n;

	if (!more)
		bench_fail("out of memory");
	values->v = more;
	for (; i > 0 && more[i - 1] > v; i--)
		more[i] = more[i - 1];
	more[i] = v;
	values->n++;
}

void bench_clear(struct bench_values *values)
{
	free(values->v);
	*values = (struct bench_values){ 0 };
}

double bench_median(const struct bench_values *values)
{
	size_t n = values->n;

	if (n == 0)
		return NAN;
	return n % 2 ? values->v[n / 2] : (values->v[n / 2 - 1] + values->v[n / 2]) / 2;
}

double bench_ratio(const struct bench_values *a, const struct bench_values *b)
{
	double from = bench_median(a);

	return from != 0 ? bench_median(b) / from : NAN;
}

void bench_print_machine(void)
{
	struct utsname name;
	double load[1] = { 0 };

	uname(&name);
	if (getloadavg(load, 1) < 1)
		load[0] = NAN;
	printf("kernel %s %s, %ld CPUs, %lld MiB, load %.1f\n", name.release, name.machine,
	       sysconf(_SC_NPROCESSORS_ONLN), (long long)bench_meminfo("MemTotal") / 1024, load[0]);
}

void bench_print_heading(const char *title, const char *a, const char *b)
{
	printf("\n%s\n%-24s %-36s %-36s %6s\n", title, "median [lowest..highest]", a, b, "ratio");
}

static void print_values(const struct bench_values *values)
{
	double highest = values->n ? values->v[values->n - 1] : 0;
	int digits = highest >= 1000 ? 0 : highest >= 10 ? 1 : 3;
	char range[64];

	snprintf(range, sizeof(range), "[%.*f..%.*f]", digits, values->n ? values->v[0] : 0, digits, highest);
	printf(" %12.*f %-23s", digits, bench_median(values), range);
}

void bench_print_row(const char *name, const struct bench_values *a, const struct bench_values *b)
{
	double ratio = bench_ratio(a, b);

	printf("%-24s", name);
	print_values(a);
	print_values(b);
	if (isnan(ratio))
		printf(" %6s\n", "-");
	else
		printf(" %6.2f\n", ratio);
}
