/* Workers and devices as the REST API shows them, from what discovery last heard. */
#pragma once

#include "gateway/dispatch/directory.h"
#include "shared/json/writer.h"

void worker_write(JsonWriter *writer, const WorkerInfo *worker);
void worker_write_devices(JsonWriter *writer, const WorkerInfo *worker); /* as items of an open array */

/* Notes NOT_FOUND for a worker that this gateway has not heard of. */
MUST_USE Status worker_not_found(Call *call, Slice name);
