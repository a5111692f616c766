/* Lists of steps, newest first, a page at a time: for listSteps and listJobs. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/http/handler.h"

/* The page that the request asks for, of one session or, when it is zero, of all. Its query may have `state`
 * and what page.h reads; the caller has checked the rest. */
MUST_USE Status step_page_answer(
    Call *call, const Request *request, const Limits *limits, Response *response, SessionId session);
