/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/catalogue.h"
#include "core/diag.h"
#include "core/facts.h"
#include "core/kernel-io.h"
#include "core/live-state.h"
#include "core/module.h"
#include "core/policy.h"

enum step_action {
	STEP_SET, /* to be written */
	STEP_KEEP, /* the machine is as wanted, or this run leaves it so: outcome says which (pending: it is for mmoptd to do) */
	STEP_REFUSE, /* will not be written: outcome and reason say why */
};

/* What became of an item; the words of every output. */
enum outcome {
	OUTCOME_PENDING, /* not tried yet: shown as what apply would do */
	OUTCOME_APPLIED,
	OUTCOME_ALREADY,
	OUTCOME_ADJUSTED,
	OUTCOME_PARTIAL,
	OUTCOME_REFUSED,
	OUTCOME_UNSUPPORTED,
	OUTCOME_UNSAFE,
	OUTCOME_PENDING_REBOOT,
	OUTCOME_DRIFTED,
	OUTCOME_SKIPPED,
};

struct step {
	struct tunable_ref ref;
	char *id;
	char *path;    /* where it is read and written; NULL for options, the daemon's own and the unsupported */
	char *current; /* canonical, before; NULL where unknown */
	char *wanted;  /* canonical; NULL where nothing is wanted ("auto" that keeps) */
	char *actual;  /* canonical, read back by apply or verify; NULL before */
	enum relation relation;
	enum step_action action;
	enum outcome outcome;
	int error;	  /* negative errno of a refused write, else 0 */
	char *reason;	  /* one line for people, or NULL */
	const char *file; /* where the winning value stands; belongs to the policy */
	unsigned line;
	bool is_auto;
	bool optional; /* leading '-' */
	bool essential;
	bool differs;	      /* the machine is not as the policy wants it */
	bool effect_checked;  /* the effect was looked at, beyond reading back */
	int64_t cost_bytes;   /* memory this step takes (negative: gives back), 0 where none or not known */
	int64_t saving_bytes; /* memory it is expected to save */
	/* Of a value that somebody else changed, as far as a running mmoptd knows. */
	pid_t writer_pid;  /* 0: unknown */
	char *writer_comm; /* or NULL */
	bool given_up;	   /* mmoptd no longer sets it again */
	/* Of a kernel parameter that waits for a reboot. */
	bool is_on_line; /* on the command line of this boot, without effect */
	char *conflict;	 /* what is on that line and keeps it from its effect, or NULL */
	/* Of a file that comes with a kernel module which the policy lets mmopt load. */
	bool lacks_module;  /* the file is not there, and the module could give it */
	bool load_module;   /* nothing known stands against it: apply loads it first, then plan_after_loading() */
	bool loaded_module; /* done in this run */
};

struct plan {
	struct step *steps; /* in the order they are applied */
	size_t n_steps;
	bool shrink;			       /* [hugetlb] shrink = yes */
	bool may_load_module;		       /* [faultaround] module = yes */
	uint64_t memory_floor_bytes;	       /* what pools and reserves must leave */
	char *refused;			       /* why nothing at all may be applied here (kdump, rescue), or NULL */
	const struct live_state *live;	       /* plan_options.live */
	const struct module_note *module_note; /* plan_options.module_note */
};

struct plan_options {
	bool force; /* also in rescue and kdump systems, and against the memory guard */
	/*
	 * Only these ids (NULL-terminated), what the kernel moves along with them and their other forms are to be set; the others are left as
	 * they are, and nothing depends on them.  NULL: all.
	 */
	char *const *only;
	const struct live_state
		*live; /* what a running mmoptd says of itself, has to outlive the plan; NULL: none runs */
	/*
	 * How an earlier try to load the module ended, has to outlive the plan; a module that was refused is not tried
	 * again.  NULL: as if there had been none.
	 */
	const struct module_note *module_note;
};

/*
 * Makes the plan: policy x facts x catalogue, and what the kernel files say now (read through io, never written).
 * Probes into facts the groups it needs.  Messages about the policy as a whole go to diags.  0 or -ENOMEM.
 */
int plan_make(const struct policy *policy, struct facts *facts, struct kernel_io *io,
	      const struct plan_options *options, struct diag_list *diags, struct plan **ret);
void plan_free(struct plan *plan);
DEFINE_CLEANUP(struct plan *, plan_free);

/*
 * After a try to load the module that a step waits for (step.load_module): settles the step by what is there now.  What
 * counts is whether its file is.  reason: why it was not loaded, as far as known, or NULL.  0 or -ENOMEM.
 */
int plan_after_loading(const struct plan *plan, struct step *step, struct facts *facts, struct kernel_io *io,
		       const char *reason);
/* The same where nobody can load it in this run: it is left to mmoptd. 0 or -ENOMEM. */
int plan_leave_loading(struct step *step, const struct facts *facts);

/* The step of that id, or NULL. */
struct step *plan_find(const struct plan *plan, const char *id);

/* True where apply would write something or boot parameters wait. */
bool plan_differs(const struct plan *plan);
/* True where an item that is not optional is partial, refused, unsupported or unsafe. */
bool plan_has_failures(const struct plan *plan);

const char *outcome_name(enum outcome outcome); /* "applied", "pending-reboot", ... */

/*
 * Does a value read back count as wanted?  OUTCOME_APPLIED: exactly; OUTCOME_ADJUSTED: another value that the row's
 * comparison or the relation allows; OUTCOME_PARTIAL: a pool short of it; OUTCOME_REFUSED: no.  Both texts are canonical.
 */
enum outcome tunable_compare(const struct tunable *t, enum relation relation, const char *wanted, const char *actual);

/* Reads a tunable's file and makes it canonical. 0, or a negative errno (-EINVAL: not what the row expects). Caller frees. */
int tunable_read(struct kernel_io *io, const struct tunable *t, const char *path, char **ret);
