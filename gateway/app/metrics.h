/* The gateway's numbers, as GET /metrics shows them (shared/telemetry/metrics.h). */
#pragma once

#include "gateway/http/server.h"

typedef struct Gateway Gateway;

/* Whose pools and caches the read metrics tell of; NULL for none. */
void metrics_watch(const Gateway *gateway);

void metrics_count_request(const RequestRecord *record);

/* All of them, in the text format. */
void metrics_write_all(Buffer *buffer);
