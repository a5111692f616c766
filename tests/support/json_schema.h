/* Checks JSON against the part of JSON Schema 2020-12 that openapi.yaml uses: $ref, type, enum, required,
 * properties, additionalProperties, items, minimum. A keyword it does not know is a fault of the schema. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

/* `document` is where "#/…" leads. False: `ret_fault` says what is wrong, and where. */
bool json_schema_check(
    const cJSON *document, const cJSON *schema, const cJSON *value, char *ret_fault, size_t fault_size);

/* The object that this one refers to by $ref; itself when it does not. NULL when it leads nowhere. */
const cJSON *json_schema_resolve(const cJSON *document, const cJSON *object);
