/* Resources as the API shows them, and the ids and versions that requests name them by.
 *
 * Errors: NOT_FOUND for an id that is none; 412 and 428 (FAILED_PRECONDITION) for If-Match. */
#pragma once

#include "gateway/http/handler.h"
#include "gateway/store/graphs.h"
#include "gateway/store/places.h"
#include "gateway/store/sessions.h"
#include "shared/json/writer.h"

/* {session}, {graph}, {step} of the path. */
MUST_USE Status session_id_read(Call *call, const Request *request, SessionId *ret_id);
MUST_USE Status graph_id_read(Call *call, const Request *request, GraphId *ret_id);
MUST_USE Status step_id_read(Call *call, const Request *request, StepId *ret_id);

/* Whether If-Match names this version (request_match() of gateway/http/headers.h). */
MUST_USE Status version_match(
    Call *call, const Request *request, Response *response, int64_t version, bool is_required);

/* What the store says of a change whose version was matched: ABORTED, for somebody was quicker, is 412. */
MUST_USE Status version_lost(Response *response, Status status);

/* As the whole body, with its ETag. */
void session_write(Response *response, const Session *session, const SessionPlaces *places);
void graph_write(Response *response, const StoredGraph *graph);
void graph_write_location(Response *response, const StoredGraph *graph);

/* As an item of a list. */
void session_write_item(JsonWriter *writer, const Session *session);
void graph_write_item(JsonWriter *writer, const StoredGraph *graph);

/* "2026-11-21T10:11:12.123456Z" */
void json_member_time(JsonWriter *writer, const char *name, uint64_t wall_us);
