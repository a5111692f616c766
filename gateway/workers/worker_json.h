/* Workers and devices as the REST API shows them, from what discovery last heard. */
#pragma once

#include "gateway/dispatch/directory.h"
#include "shared/json/writer.h"

/* Writes the worker; `devices` are those that its roster has (roster_devices()). */
void worker_write(JsonWriter *writer, const WorkerInfo *worker, const WorkerDevice *devices);

void worker_write_device(JsonWriter *writer, const WorkerInfo *worker, const WorkerDevice *device);

/* Notes NOT_FOUND for a worker that this gateway has not heard of. */
MUST_USE Status worker_not_found(Call *call, Slice name);
