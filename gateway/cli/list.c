#include "gateway/cli/list.h"

#include <assert.h>

#include "gateway/cli/api.h"

Status
list_page(Cli *cli, const char *path, Buffer *token, HttpClientResponse *ret_reply)
{
    assert(path != NULL && token != NULL);
    AUTO_BUFFER target = {0};
    Slice next = {0};
    buffer_append_string(&target, path);
    if (token->size > 0) {
        buffer_append_string(&target, strchr(path, '?') == NULL ? "?page_token=" : "&page_token=");
        buffer_append_escaped(&target, buffer_slice(token));
    }
    const char *text = buffer_string(&target);
    if (text == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
    TRY(api_get(cli, text, ret_reply));
    TRY(reply_text(cli->call, buffer_slice(&ret_reply->body), "next_page_token", &next));
    buffer_clear(token);
    buffer_append_slice(token, next);
    return buffer_is_ok(token) ? STATUS_OK : call_fail_memory(cli->call, "a list");
}

/* Shows one page. Its rows are kept in the table, which copies cells, after the page is freed. */
static Status
page_show(Cli *cli, const List *list, Buffer *token, ScreenTable *table)
{
    AUTO_REPLY reply = {0};
    TRY(list_page(cli, list->path, token, &reply));
    Slice body = buffer_slice(&reply.body);
    return cli->is_json ? screen_write_json(cli, body)
                        : reply_each(cli->call, body, list->member, list->row, table);
}

Status
list_show(Cli *cli, const List *list)
{
    assert(list->row != NULL && list->column_count <= SCREEN_COLUMN_MAX);
    AUTO_BUFFER token = {0};
    AUTO_BUFFER text = {0};
    ScreenTable table;
    screen_table_begin(&table, cli->call->arena, list->titles, list->column_count);
    do {
        TRY(page_show(cli, list, &token, &table));
    } while (token.size > 0);
    if (cli->is_json) {
        return STATUS_OK;
    }
    return screen_table_end(&table, &text) ? screen_write(cli, &text) : call_fail_memory(cli->call, "a list");
}
