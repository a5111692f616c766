/* Lists of the API: page after page, and as tables. */
#pragma once

#include "gateway/cli/command.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"

/* Gets the page that `token` names, the first when that is empty, and leaves the next one's there, empty
 * behind the last. The reply is the caller's to free. */
MUST_USE Status list_page(Cli *cli, const char *path, Buffer *token, HttpClientResponse *ret_reply);

typedef struct List {
    const char *path;
    const char *member; /* of the answer: the array */
    const char *const *titles;
    size_t column_count;
    ReplyEach row; /* adds the cells of an item to its context, a ScreenTable */
} List;

/* Shows all pages; as JSON, each page as it came. */
MUST_USE Status list_show(Cli *cli, const List *list);
