/* A doubly linked list whose links live inside the things it links: no allocation, removal in one step.
 * A list head is a ListLink too; list_init() makes it empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ListLink {
    struct ListLink *previous;
    struct ListLink *next;
} ListLink;

/* Returns the thing that contains a link: LIST_ITEM(link, Stream, siblings). */
#define LIST_ITEM(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* Walks from first to last; the current item may be removed. `link` is the name of a variable.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
#define LIST_EACH(head, link)                                                                                \
    for (ListLink *link = (head)->next, *link##_next = link->next; link != (head);                           \
         link = link##_next, link##_next = link->next)
/* NOLINTEND(bugprone-macro-parentheses) */

static inline void
list_init(ListLink *head)
{
    head->previous = head;
    head->next = head;
}

static inline bool
list_is_empty(const ListLink *head)
{
    return head->next == head;
}

static inline void
list_append(ListLink *head, ListLink *link)
{
    link->previous = head->previous;
    link->next = head;
    head->previous->next = link;
    head->previous = link;
}

/* Leaves the link as a list of itself, so that removing it twice is harmless. */
static inline void
list_remove(ListLink *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

static inline ListLink *
list_first(const ListLink *head)
{
    return list_is_empty(head) ? NULL : head->next;
}

/* Moves all links of one list to the end of another. */
static inline void
list_move(ListLink *from, ListLink *to)
{
    if (list_is_empty(from)) {
        return;
    }
    from->next->previous = to->previous;
    to->previous->next = from->next;
    from->previous->next = to;
    to->previous = from->previous;
    list_init(from);
}
