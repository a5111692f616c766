#include "gateway/graphs/graph_json.h"

#include "gateway/resources/resource.h"

void
graph_write_item(JsonWriter *writer, const StoredGraph *graph)
{
    char digest[SHA256_HEX_SIZE];
    sha256_to_hex(&graph->digest, digest);
    json_write_object_begin(writer);
    json_member_id(writer, "id", "grf", graph->id.value);
    json_member_id(writer, "session", "ses", graph->session.value);
    json_member_int64(writer, "version", graph->version);
    if (!uuid_is_zero(graph->parent.value)) {
        json_member_id(writer, "parent", "grf", graph->parent.value);
    }
    json_member_string(writer, "media_type", graph->media_type);
    json_member_string(writer, "digest", digest);
    json_write_name(writer, "summary");
    json_write_raw(writer, slice_from_string(graph->summary));
    json_member_time(writer, "created_at", graph->created_us);
    json_write_object_end(writer);
}

void
graph_write(Response *response, const StoredGraph *graph)
{
    char digest[SHA256_HEX_SIZE];
    sha256_to_hex(&graph->digest, digest);
    JsonWriter writer = json_writer(response_json(response));
    graph_write_item(&writer, graph);
    response_etag(response, digest);
}

void
graph_write_location(Response *response, const StoredGraph *graph)
{
    char session[ID_TEXT_SIZE];
    char id[ID_TEXT_SIZE];
    id_to_text("ses", graph->session.value, session);
    id_to_text("grf", graph->id.value, id);
    response_header_format(response, "Location", "/api/v1/sessions/%s/graphs/%s", session, id);
}
