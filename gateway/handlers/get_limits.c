/* getLimits: lists every limit by name, with its value, unit and meaning. */
#include "gateway/domain/limits.h"
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "shared/json/writer.h"

static void
start_get_limits(Exchange *exchange)
{
    const Limits *limits = exchange_request(exchange)->parts->limits;
    JsonWriter writer = json_writer(response_json(exchange_response(exchange)));
    json_write_object_begin(&writer);
    json_write_name(&writer, "limits");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < limit_table_count; index++) {
        const LimitField *limit = &limit_table[index];
        json_write_object_begin(&writer);
        json_member_string(&writer, "name", limit->name);
        json_member_uint64(&writer, "value", limit_value(limits, limit));
        json_member_string(&writer, "unit", limit->unit);
        json_member_string(&writer, "meaning", limit->meaning);
        json_write_object_end(&writer);
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
    exchange_finish(exchange);
}

HANDLER(get_limits) = {
    .operation_id = "getLimits",
    .method = "GET",
    .path = "/api/v1/limits",
    .access = ACCESS_TENANT,
    .start = start_get_limits,
};
