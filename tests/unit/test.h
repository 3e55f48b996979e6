/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What every unit test includes: cmocka needs these four before its own header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/strutil.h"
