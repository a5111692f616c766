/* Sessions as the REST API shows them. */
#pragma once

#include "gateway/http/response.h"
#include "gateway/store/places.h"
#include "gateway/store/sessions.h"
#include "shared/json/writer.h"

/* Writes the session as the whole body, with its ETag. */
void session_write(Response *response, const Session *session, const SessionPlaces *places);

/* Writes the session as an item of a list. */
void session_write_item(JsonWriter *writer, const Session *session);
