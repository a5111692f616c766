/* A checker of JSON against the part of JSON Schema 2020-12 that openapi.yaml uses: $ref, type, enum,
 * required, properties, additionalProperties, items, minimum. An unknown keyword is a fault of the schema. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

/* Checks a value; "#/…" refers into `document`. False: `ret_fault` names the fault and where it is. */
bool json_schema_check(
    const cJSON *document, const cJSON *schema, const cJSON *value, char *ret_fault, size_t fault_size);

/* Returns the object that a $ref in `object` refers to; `object` itself without a $ref; NULL when the
 * reference leads nowhere. */
const cJSON *json_schema_resolve(const cJSON *document, const cJSON *object);
