/* One page of a list, newest first, by the key itself: what comes or goes in between neither repeats nor
 * hides an item. Ids lead with their time, so the order of ids is the order of creation. */
#pragma once

#include "shared/base/uuid.h"

enum { PAGE_SIZE_DEFAULT = 50, PAGE_SIZE_MAX = 1000 };

typedef struct Page {
    Uuid before; /* the last id of the page before; zero for the first page */
    size_t size; /* at most PAGE_SIZE_MAX; 0: PAGE_SIZE_DEFAULT */
} Page;

static inline size_t
page_size(const Page *page)
{
    const size_t size = page->size == 0 ? PAGE_SIZE_DEFAULT : page->size;
    return size < PAGE_SIZE_MAX ? size : PAGE_SIZE_MAX;
}
