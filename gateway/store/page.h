/* One page of a list, newest first, bounded by a key: items that are created or deleted between two pages
 * make none of the others repeat or vanish. Ids begin with their time, so that the order of ids is the
 * order of creation. */
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
    size_t size = page->size == 0 ? PAGE_SIZE_DEFAULT : page->size;
    return size < PAGE_SIZE_MAX ? size : PAGE_SIZE_MAX;
}
