#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: named kernel=6.12-plain bare mem=1G timeout=300 files=hvo-lib.sh
# vm: trouble="Call Trace|invoked oom-killer|Out of memory|oom-kill"
# Asked for ten times the memory with HVO on, a kernel without the series calls the OOM killer to optimise pages that it could
# leave as they are, which t-patched-hvo.sh shows not to happen with it. The processes that are killed save the machine, which
# would panic without them.
. guest/test-lib.sh
. ./hvo-lib.sh

expect_eq "OOM kills at the start" "$(vmstat oom_kill)" 0
echo 1 >$switch
keep_programs
start_victims
ask_too_much
figure "asked for $wanted pages with HVO on: $(size 2048), OOM kills $(vmstat oom_kill), by HVO $(hvo_oom_kills)"
expect_between "OOM kills by HVO" "$(hvo_oom_kills)" 1 1000
