/* Pages of the pool's workers, and of their devices, in the order of task numbers. Each page is of the list
 * as discovery last heard of it; a worker that comes or goes between two pages moves no other from one to the
 * next.
 *
 * Threads: any.
 * Errors:  those of page_parse(). */
#pragma once

#include "gateway/dispatch/directory.h"
#include "gateway/resources/paging.h"

MUST_USE Status workers_answer(
    Call *call, const Request *request, Response *response, Directory *directory, const Limits *limits);
MUST_USE Status devices_answer(
    Call *call, const Request *request, Response *response, Directory *directory, const Limits *limits);
