/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels and architectures this module is for, and
 * refusals that the compiler can tell.
 */
#ifndef MMOPT_FAULTAROUND_COMPAT_H
#define MMOPT_FAULTAROUND_COMPAT_H

#include <linux/bitops.h>
#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sysctl.h>
#include <linux/version.h>
#ifdef CONFIG_ARM64
#include <asm/cpufeature.h>
#endif

#if !defined(CONFIG_X86_64) && !defined(CONFIG_ARM64)
#error "only x86_64 and arm64 have been looked at"
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "Linux 6.1 is the oldest that has been looked at"
#endif
#if !defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS) && !defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS)
#error "this kernel cannot redirect a function by ftrace"
#endif
#ifdef CONFIG_PREEMPT_RT
/*
 * The PTE lock sleeps there, and what sleeps is not waited for by
 * unregister_ftrace_function(): the module could go under a task inside it.
 */
#error "not for PREEMPT_RT"
#endif

/* The first version whose fault-around has not been read for this. */
#ifndef FA_TOO_NEW
#define FA_TOO_NEW		KERNEL_VERSION(6, 13, 0)
#endif
#define FA_IS_TOO_NEW		(LINUX_VERSION_CODE >= FA_TOO_NEW)

/* Since 6.6 the PTEs of a large folio are set together. */
#define FA_SETS_FOLIOS		(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0))

/* As mm/memory.c has it for architectures without an opinion. */
#ifndef arch_wants_old_prefaulted_pte
#define arch_wants_old_prefaulted_pte()	false
#endif

/*
 * The accessed bit alone, atomically, because the hardware may set bits of a
 * present PTE at any time.  No TLB flush: a PTE made old may stay young in the
 * TLB for a while, as in any aging, and none is cached while it is old.
 *
 * On arm64 PTEs may share one TLB entry ("contpte").  Such a group is young if
 * any of its PTEs is, so that it takes one to make it young, and the kernel's
 * own function to make it old.
 */
#ifdef CONFIG_ARM64
static inline void fa_make_young(pte_t *ptep)
{
	set_bit(ilog2(PTE_AF), (unsigned long *)ptep);
}

static inline void fa_make_old(struct vm_area_struct *vma, unsigned long addr,
			       pte_t *ptep)
{
	ptep_test_and_clear_young(vma, addr, ptep);
}
#else
static inline void fa_make_young(pte_t *ptep)
{
	set_bit(_PAGE_BIT_ACCESSED, (unsigned long *)ptep);
}

/* x86 does not export ptep_test_and_clear_young(). */
static inline void fa_make_old(struct vm_area_struct *vma, unsigned long addr,
			       pte_t *ptep)
{
	clear_bit(_PAGE_BIT_ACCESSED, (unsigned long *)ptep);
}
#endif

/*
 * The first argument of the function that is entered, and where to go instead.
 * Before 6.2 there is a struct pt_regs in it on both architectures, filled as
 * far as needed, which is less than ftrace_get_regs() wishes for on x86.
 */
static __always_inline void *fa_argument(struct ftrace_regs *fregs)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	return (void *)ftrace_regs_get_argument(fregs, 0);
#else
	return (void *)regs_get_kernel_argument(&fregs->regs, 0);
#endif
}

static __always_inline void fa_redirect(struct ftrace_regs *fregs, unsigned long to)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	ftrace_regs_set_instruction_pointer(fregs, to);
#else
	instruction_pointer_set(&fregs->regs, to);
#endif
}

/*
 * IPMODIFY tells ftrace that the instruction pointer is changed: a second one
 * that wants to gets -EBUSY, and BPF trampolines take care.  Not so before
 * 6.12: bpf_trampoline_update() of 6.1.192 resets fops->func of a trampoline
 * that is registered already, when it tries again after -EAGAIN.  So a BPF
 * fentry program and then an fexit program on a function with an IPMODIFY user
 * leave a NULL there: warnings at each call, an oops at the next change.
 * Without the flag an fexit program switches the hook off while it is attached,
 * and that is all.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define FA_IPMODIFY		FTRACE_OPS_FL_IPMODIFY
#else
#define FA_IPMODIFY		0
#endif

/* As livepatch has it: where there are no arguments without it. */
#ifdef CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS
#define FA_SAVE_REGS		0
#else
#define FA_SAVE_REGS		FTRACE_OPS_FL_SAVE_REGS
#endif

/* Since 6.11 handlers get their table const, and tables need no end. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define fa_const		const
#define FA_SYSCTL_END
#else
#define fa_const
#define FA_SYSCTL_END		{ }
#endif

#endif
