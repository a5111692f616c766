/* Includes cmocka.h behind the four headers that it needs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shared/base/call.h"

#define assert_status(call, expected, expression)                                                            \
    do {                                                                                                     \
        Status actual_ = (expression);                                                                       \
        if (actual_ != (expected)) {                                                                         \
            fail_msg("%s is %s, not %s: %s", #expression, status_name(actual_), status_name(expected),       \
                (call)->error.message);                                                                      \
        }                                                                                                    \
    } while (0)
