/* Resources of the REST API have this in common: ids in paths, versions for If-Match, the connection of a
 * request's job thread, and members that are written everywhere.
 *
 * Errors: NOT_FOUND for a text that is no id; 412 and 428 (FAILED_PRECONDITION) for If-Match. */
#pragma once

#include "gateway/http/handler.h"
#include "gateway/store/connection.h"
#include "shared/json/writer.h"

/* Reads {session}, {graph} and {step} of the path. */
MUST_USE Status session_id_read(Call *call, const Request *request, SessionId *ret_id);
MUST_USE Status graph_id_read(Call *call, const Request *request, GraphId *ret_id);
MUST_USE Status step_id_read(Call *call, const Request *request, StepId *ret_id);

/* Opens, or finds open, the job thread's connection for request paths. For Handler.run only. */
MUST_USE Status request_store(Call *call, const Request *request, Store **ret_store);

/* The ETag of a resource that counts its versions. */
enum { VERSION_TAG_SIZE = 24 };
void version_tag(int64_t version, char ret_tag[VERSION_TAG_SIZE]);

/* Checks that If-Match, when it is sent or required, names this version. */
MUST_USE Status version_match(
    Call *call, const Request *request, Response *response, int64_t version, bool is_required);

/* Turns the store's ABORTED, which says that somebody changed a version that had matched, into 412. */
MUST_USE Status version_lost(Response *response, Status status);

/* Writes a time such as "2026-11-21T10:11:12.123456Z". */
void json_member_time(JsonWriter *writer, const char *name, uint64_t wall_us);

/* Writes an id, such as "ses_…" for the prefix "ses". */
void json_member_id(JsonWriter *writer, const char *name, const char *prefix, Uuid id);
