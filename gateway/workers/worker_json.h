/* Workers and devices as the API shows them, from what discovery last heard. */
#pragma once

#include "gateway/dispatch/directory.h"
#include "shared/json/writer.h"

void worker_write(JsonWriter *writer, const WorkerInfo *worker);
void worker_write_devices(JsonWriter *writer, const WorkerInfo *worker); /* items of an open array */

/* NOT_FOUND: this gateway has heard of no worker of that name. */
MUST_USE Status worker_not_found(Call *call, Slice name);
