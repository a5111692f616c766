#include "tests/support/json_schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/slice.h"

typedef struct Check {
    const cJSON *document;
    char *fault;
    size_t fault_size;
} Check;

static bool check_value(const Check *check, const cJSON *schema, const cJSON *value, const char *name);

static bool
fail(const Check *check, const char *name, const char *what, const char *detail)
{
    (void)snprintf(check->fault, check->fault_size, "'%s' %s '%s'", name, what, detail);
    return false;
}

const cJSON *
json_schema_resolve(const cJSON *document, const cJSON *object)
{
    const cJSON *found = object;
    for (const cJSON *reference = cJSON_GetObjectItemCaseSensitive(found, "$ref"); reference != NULL;
         reference = cJSON_GetObjectItemCaseSensitive(found, "$ref")) {
        Slice rest = slice_from_string(reference->valuestring + strlen("#/"));
        Slice part;
        found = document;
        while (slice_split(&rest, '/', &part)) {
            char name[128];
            (void)snprintf(name, sizeof name, "%.*s", SLICE_PRINT(part));
            found = cJSON_GetObjectItemCaseSensitive(found, name);
        }
    }
    return found;
}

static bool
is_type(const cJSON *value, const char *type)
{
    if (strcmp(type, "integer") == 0) {
        return cJSON_IsNumber(value) && floor(value->valuedouble) == value->valuedouble;
    }
    return (strcmp(type, "object") == 0 && cJSON_IsObject(value)) ||
           (strcmp(type, "array") == 0 && cJSON_IsArray(value)) ||
           (strcmp(type, "string") == 0 && cJSON_IsString(value)) ||
           (strcmp(type, "number") == 0 && cJSON_IsNumber(value)) ||
           (strcmp(type, "boolean") == 0 && cJSON_IsBool(value)) ||
           (strcmp(type, "null") == 0 && cJSON_IsNull(value));
}

static bool
check_type(const Check *check, const cJSON *type, const cJSON *value, const char *name)
{
    if (cJSON_IsString(type)) {
        return is_type(value, type->valuestring) || fail(check, name, "is not of type", type->valuestring);
    }
    const cJSON *one = NULL;
    cJSON_ArrayForEach(one, type)
    {
        if (is_type(value, one->valuestring)) {
            return true;
        }
    }
    return fail(check, name, "is of none of the types of", name);
}

static bool
check_enum(const Check *check, const cJSON *values, const cJSON *value, const char *name)
{
    const cJSON *one = NULL;
    cJSON_ArrayForEach(one, values)
    {
        if (cJSON_Compare(one, value, true)) {
            return true;
        }
    }
    return fail(check, name, "is none of the values that may stand here, but",
        cJSON_IsString(value) ? value->valuestring : "no string");
}

static bool
check_required(const Check *check, const cJSON *names, const cJSON *value, const char *name)
{
    const cJSON *one = NULL;
    cJSON_ArrayForEach(one, names)
    {
        if (cJSON_GetObjectItemCaseSensitive(value, one->valuestring) == NULL) {
            return fail(check, name, "lacks", one->valuestring);
        }
    }
    return true;
}

static bool
check_member_name(const Check *check, const cJSON *schema, const char *name)
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(schema, "propertyNames");
    cJSON *text = cJSON_CreateString(name);
    bool is_ok = names == NULL || check_value(check, names, text, name);
    cJSON_Delete(text);
    return is_ok;
}

static bool
check_members(const Check *check, const cJSON *schema, const cJSON *value, const char *name)
{
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
    const cJSON *additional = cJSON_GetObjectItemCaseSensitive(schema, "additionalProperties");
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, value)
    {
        const cJSON *known = cJSON_GetObjectItemCaseSensitive(properties, member->string);
        if (!check_member_name(check, schema, member->string)) {
            return false;
        }
        if (known == NULL && cJSON_IsFalse(additional)) {
            return fail(check, name, "has a member that is not described:", member->string);
        }
        const cJSON *next = known != NULL ? known : additional;
        if (cJSON_IsObject(next) && !check_value(check, next, member, member->string)) {
            return false;
        }
    }
    return true;
}

static bool
check_items(const Check *check, const cJSON *items, const cJSON *value, const char *name)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, value)
    {
        if (!check_value(check, items, item, name)) {
            return false;
        }
    }
    return true;
}

static bool
check_known(const Check *check, const cJSON *schema, const char *name)
{
    static const char *const known[] = {"type", "enum", "required", "properties", "additionalProperties",
        "propertyNames", "items", "minimum", "maximum", "maxLength", "pattern", "format", "default",
        "description", "summary"};
    const cJSON *keyword = NULL;
    cJSON_ArrayForEach(keyword, schema)
    {
        size_t index = 0;
        while (index < COUNT_OF(known) && strcmp(known[index], keyword->string) != 0) {
            index++;
        }
        if (index == COUNT_OF(known)) {
            return fail(check, name, "has a schema with the unknown keyword", keyword->string);
        }
    }
    return true;
}

/* Reports the fault of the last alternative. */
static bool
check_any(const Check *check, const cJSON *schemas, const cJSON *value, const char *name)
{
    const cJSON *schema = NULL;
    cJSON_ArrayForEach(schema, schemas)
    {
        if (check_value(check, schema, value, name)) {
            return true;
        }
    }
    return false;
}

static bool
check_value(const Check *check, const cJSON *given, const cJSON *value, const char *name)
{
    const cJSON *schema = json_schema_resolve(check->document, given);
    if (schema == NULL) {
        return fail(check, name, "has a schema that leads nowhere:", name);
    }
    const cJSON *any = cJSON_GetObjectItemCaseSensitive(schema, "anyOf");
    if (any != NULL) {
        return check_any(check, any, value, name);
    }
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(schema, "type");
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(schema, "enum");
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(schema, "items");
    const cJSON *minimum = cJSON_GetObjectItemCaseSensitive(schema, "minimum");
    if (!check_known(check, schema, name) || (type != NULL && !check_type(check, type, value, name)) ||
        (values != NULL && !check_enum(check, values, value, name))) {
        return false;
    }
    if (minimum != NULL && value->valuedouble < minimum->valuedouble) {
        return fail(check, name, "is below its minimum", name);
    }
    if (cJSON_IsObject(value)) {
        const cJSON *required = cJSON_GetObjectItemCaseSensitive(schema, "required");
        return check_required(check, required, value, name) && check_members(check, schema, value, name);
    }
    return items == NULL || !cJSON_IsArray(value) || check_items(check, items, value, name);
}

bool
json_schema_check(
    const cJSON *document, const cJSON *schema, const cJSON *value, char *ret_fault, size_t fault_size)
{
    Check check = {.document = document, .fault = ret_fault, .fault_size = fault_size};
    return check_value(&check, schema, value, "the document");
}
