/* Steps as JSON: the parts of a request and of a run that are stored, and the document that the REST API
 * shows.
 *
 * Threads: any. */
#pragma once

#include "gateway/dispatch/step.h"
#include "gateway/http/response.h"
#include "gateway/steps/step_body.h"
#include "gateway/store/steps.h"
#include "shared/json/writer.h"

/* Writes the request without its feeds, in the form that step_body_read() reads. */
void step_write_request(Buffer *buffer, const StepBody *body, const char *graph);

/* Writes the members "elapsed_us", "waited_us" and "partitions" of an open object. */
void step_write_report(JsonWriter *writer, const StepReport *report);

/* Writes them as the object of StepRecord.stats. */
void step_write_stats(Buffer *buffer, const StepReport *report);

/* Writes the step as an item of a list. */
void step_write_item(JsonWriter *writer, const StepRecord *step);

/* Writes the step as the whole body, with its ETag; `outputs` NULL: none are kept. */
void step_write_document(Response *response, const StepRecord *step, const StepTensors *outputs);

/* Writes "/api/v1/sessions/ses_…/steps/stp_…". */
enum { STEP_PATH_SIZE = sizeof "/api/v1/sessions//steps/" + (size_t)2 * ID_TEXT_SIZE };
void step_path(SessionId session, StepId step, char ret_path[STEP_PATH_SIZE]);
