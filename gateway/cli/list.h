/* Shows lists of the API, page after page, as tables. */
#pragma once

#include "gateway/cli/command.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"

/* Gets the page that `token` names, the first when it is empty, and leaves the next page's token there,
 * empty behind the last. The caller frees the reply. */
MUST_USE Status list_page(Cli *cli, const char *path, Buffer *token, HttpClientResponse *ret_reply);

typedef struct List {
    const char *path;
    const char *member; /* the array of the answer */
    const char *const *titles;
    size_t column_count;
    ReplyEach row; /* adds the cells of an item to its context, a ScreenTable */
} List;

/* Shows all pages; in JSON, each page as it came. */
MUST_USE Status list_show(Cli *cli, const List *list);
