/* Reads the API's JSON: the members that are asked for, whatever else an object holds, as a newer gateway
 * may say more.
 *
 * Ownership: slices point into the JSON or live in call->arena.
 * Errors:    DATA_LOSS when it is no JSON of the expected form. */
#pragma once

#include "shared/json/reader.h"

/* Reads an object. Members that are absent, null or of another kind leave `ret_struct` as it was. */
MUST_USE Status reply_read(
    Call *call, Slice json, const JsonMember *members, size_t member_count, void *ret_struct);

/* Reads one string member of an object; empty when it is absent. */
MUST_USE Status reply_text(Call *call, Slice json, const char *name, Slice *ret_text);

/* Calls `each` with every item of the array that is the member `name`, or, when `name` is NULL, the whole
 * text. An absent array has no items. */
typedef Status (*ReplyEach)(Call *call, void *context, Slice item);
MUST_USE Status reply_each(Call *call, Slice json, const char *name, ReplyEach each, void *context);
