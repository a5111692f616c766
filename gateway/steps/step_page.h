/* Pages of steps, newest first: for listSteps and listJobs. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/http/handler.h"

/* Answers with the page that the request asks for, of one session or, when it is zero, of all. The query
 * may have `state` and what paging.h reads; the caller has checked the rest. */
MUST_USE Status step_page_answer(
    Call *call, const Request *request, const Limits *limits, Response *response, SessionId session);
