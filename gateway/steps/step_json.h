/* Steps as JSON: what is kept of a request and of a run, and the document that the API shows.
 *
 * Threads: any. */
#pragma once

#include "gateway/dispatch/step.h"
#include "gateway/http/response.h"
#include "gateway/steps/step_body.h"
#include "gateway/store/steps.h"
#include "shared/json/writer.h"

/* The request without its feeds, in the form that step_body_read() reads. */
void step_write_request(Buffer *buffer, const StepBody *body, const char *graph);

/* Members "elapsed_us" and "partitions", into an object that is open. */
void step_write_report(JsonWriter *writer, const StepReport *report);

/* The object {"elapsed_us", "partitions"} of StepRecord.stats. */
void step_write_stats(Buffer *buffer, const StepReport *report);

/* Device-seconds that were used. */
double step_device_seconds(const StepReport *report);

/* As an item of a list. */
void step_write_item(JsonWriter *writer, const StepRecord *step);

/* As the whole body, with its ETag; `outputs` NULL: none are kept. */
void step_write_document(Response *response, const StepRecord *step, const StepTensors *outputs);

/* "/api/v1/sessions/ses_…/steps/stp_…" */
enum { STEP_PATH_SIZE = sizeof "/api/v1/sessions//steps/" + (size_t)2 * ID_TEXT_SIZE };
void step_path(SessionId session, StepId step, char ret_path[STEP_PATH_SIZE]);
