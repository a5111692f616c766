#include "gateway/cli/graph.h"

#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/session.h"
#include "shared/base/text.h"

typedef struct GraphDocument {
    Slice id;
    Slice media_type;
    Slice digest;
    Slice summary; /* JSON */
} GraphDocument;

typedef struct GraphPort {
    Slice name;
    Slice dtype;
    Slice shape; /* JSON */
} GraphPort;

/* The context of a summary's list; the title stands before each item. */
typedef struct Section {
    Buffer *text;
    const char *title;
} Section;

static Status
port_append(Call *call, void *context, Slice json)
{
    static const JsonMember members[] = {
        {"name", JSON_SLICE, .offset = offsetof(GraphPort, name)},
        {"dtype", JSON_SLICE, .offset = offsetof(GraphPort, dtype)},
        {"shape", JSON_TEXT, .offset = offsetof(GraphPort, shape)},
    };
    const Section *section = context;
    GraphPort port = {0};
    TRY(reply_read(call, json, members, COUNT_OF(members), &port));
    buffer_append_format(section->text, "  %s ", section->title);
    screen_append(section->text, port.name);
    if (port.dtype.size > 0) {
        buffer_append_byte(section->text, ' ');
        screen_append(section->text, port.dtype);
    }
    if (port.shape.size > 0) {
        buffer_append_byte(section->text, ' ');
        screen_append(section->text, port.shape);
    }
    buffer_append_byte(section->text, '\n');
    return STATUS_OK;
}

static Status
warning_append(Call *call, void *context, Slice json)
{
    const Section *section = context;
    (void)call;
    buffer_append_format(section->text, "  %s ", section->title);
    screen_append(section->text, json);
    buffer_append_byte(section->text, '\n');
    return STATUS_OK;
}

static Status
summary_append(Call *call, Slice summary, Buffer *text)
{
    static const JsonMember nodes = {.name = "nodes", .type = JSON_INT64};
    static const struct {
        const char *member;
        const char *title;
        ReplyEach append;
    } sections[] = {
        {"inputs", "input", port_append},
        {"outputs", "output", port_append},
        {"unsupported_ops", "unsupported op", warning_append},
        {"warnings", "warning", warning_append},
    };
    int64_t count = 0;
    TRY(reply_read(call, summary, &nodes, 1, &count));
    buffer_append_format(text, "  %lld %s\n", (long long)count, count == 1 ? "node" : "nodes");
    for (size_t index = 0; index < COUNT_OF(sections); index++) {
        Section section = {.text = text, .title = sections[index].title};
        TRY(reply_each(call, summary, sections[index].member, sections[index].append, &section));
    }
    return STATUS_OK;
}

static Status
document_append(Call *call, Slice json, Buffer *text)
{
    static const JsonMember members[] = {
        {"id", JSON_SLICE, .offset = offsetof(GraphDocument, id)},
        {"media_type", JSON_SLICE, .offset = offsetof(GraphDocument, media_type)},
        {"digest", JSON_SLICE, .offset = offsetof(GraphDocument, digest)},
        {"summary", JSON_TEXT, .offset = offsetof(GraphDocument, summary)},
    };
    GraphDocument graph = {0};
    TRY(reply_read(call, json, members, COUNT_OF(members), &graph));
    screen_append(text, graph.id);
    buffer_append_string(text, "\n  ");
    screen_append(text, graph.media_type);
    buffer_append_string(text, " sha256:");
    screen_append(text, graph.digest);
    buffer_append_byte(text, '\n');
    return graph.summary.size == 0 ? STATUS_OK : summary_append(call, graph.summary, text);
}

Status
graph_path(Cli *cli, const char *suffix, const char **ret_path)
{
    const char *id = cli_argument(cli, 0);
    char session[ID_TEXT_SIZE];
    Uuid uuid;
    if (!id_from_text("grf", slice_from_string(id), &uuid)) {
        return cli_usage(cli, "'%s' is no id of a graph, which begins with 'grf_'", id);
    }
    TRY(session_resolve(cli, false, session));
    *ret_path = text_format(cli->call->arena, "/api/v1/sessions/%s/graphs/%s%s", session, id, suffix);
    return *ret_path == NULL ? call_fail_memory(cli->call, "a request") : STATUS_OK;
}

Status
graph_show(Cli *cli, Slice json)
{
    AUTO_BUFFER text = {0};
    if (cli->is_json) {
        return screen_write_json(cli, json);
    }
    TRY(document_append(cli->call, json, &text));
    return screen_write(cli, &text);
}
