#include "worker/runtime/run/rendezvous.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { BUCKETS_MIN = 16, BUCKETS_MAX = 1 << 20 };

enum { ITEM_VALUE, ITEM_WAITER, ITEM_ANNOUNCEMENT };

/* A value that was sent and not yet received, or the announcement of one (ITEM_VALUE, ITEM_ANNOUNCEMENT). */
typedef struct Parked {
    RendezvousItem item;
    Tensor tensor;
    bool is_dead;
    char key[];
} Parked;

struct Rendezvous {
    int32_t reference_count; /* atomic */
    uint32_t slot;
    RendezvousRemote remote;
    Mutex lock;
    RendezvousItem **buckets; /* first_buckets until the table grows */
    size_t bucket_count;      /* a power of two */
    size_t item_count;
    uint64_t parked_bytes;
    Status code; /* not STATUS_OK: the rendezvous was aborted with it */
    char error[ERROR_MESSAGE_SIZE];
    RendezvousItem *first_buckets[BUCKETS_MIN];
};

Rendezvous *
rendezvous_new(uint32_t slot, const RendezvousRemote *remote)
{
    Rendezvous *rendezvous = memory_new(1, sizeof *rendezvous);
    if (rendezvous == NULL) {
        return NULL;
    }
    rendezvous->reference_count = 1;
    rendezvous->slot = slot;
    if (remote != NULL) {
        rendezvous->remote = *remote;
    }
    rendezvous->buckets = rendezvous->first_buckets;
    rendezvous->bucket_count = BUCKETS_MIN;
    mutex_init(&rendezvous->lock);
    return rendezvous;
}

Rendezvous *
rendezvous_ref(Rendezvous *rendezvous)
{
    assert(rendezvous != NULL);
    reference_count_add(&rendezvous->reference_count);
    return rendezvous;
}

/* Returns the link that points to the first item of this key, or to the NULL at its bucket's end. */
static RendezvousItem **
table_find(Rendezvous *rendezvous, Slice key, uint64_t hash)
{
    RendezvousItem **link = &rendezvous->buckets[hash & (rendezvous->bucket_count - 1)];
    while (*link != NULL && !((*link)->hash == hash && slice_equal((*link)->key, key))) {
        link = &(*link)->next;
    }
    return link;
}

static void
table_append(Rendezvous *rendezvous, RendezvousItem *item)
{
    RendezvousItem **link = &rendezvous->buckets[item->hash & (rendezvous->bucket_count - 1)];
    while (*link != NULL) {
        link = &(*link)->next;
    }
    item->next = NULL;
    *link = item;
}

/* Grows the table; without memory it stays as small as it is and gets slow. */
static void
table_grow(Rendezvous *rendezvous)
{
    size_t count = rendezvous->bucket_count;
    RendezvousItem **old = rendezvous->buckets;
    RendezvousItem **buckets = count < BUCKETS_MAX ? memory_new(count * 4, sizeof *buckets) : NULL;
    if (buckets == NULL) {
        return;
    }
    rendezvous->buckets = buckets;
    rendezvous->bucket_count = count * 4;
    for (size_t i = 0; i < count; i++) {
        for (RendezvousItem *item = old[i], *next = NULL; item != NULL; item = next) {
            next = item->next;
            table_append(rendezvous, item);
        }
    }
    if (old != rendezvous->first_buckets) {
        memory_free(old);
    }
}

static void
table_prepend(Rendezvous *rendezvous, RendezvousItem *item)
{
    RendezvousItem **link = &rendezvous->buckets[item->hash & (rendezvous->bucket_count - 1)];
    item->next = *link;
    *link = item;
}

/* Where an item stands among those of its key. */
typedef enum Place { PLACE_LAST, PLACE_FIRST } Place;

static void
table_insert(Rendezvous *rendezvous, RendezvousItem *item, Place place)
{
    if (rendezvous->item_count >= rendezvous->bucket_count * 2) {
        table_grow(rendezvous);
    }
    if (place == PLACE_FIRST) {
        table_prepend(rendezvous, item);
    } else {
        table_append(rendezvous, item);
    }
    rendezvous->item_count++;
}

static RendezvousItem *
table_remove(Rendezvous *rendezvous, RendezvousItem **link)
{
    RendezvousItem *item = *link;
    *link = item->next;
    rendezvous->item_count--;
    return item;
}

/* Empties the table and returns its items as a list. */
static RendezvousItem *
table_clear(Rendezvous *rendezvous)
{
    RendezvousItem *all = NULL;
    for (size_t i = 0; i < rendezvous->bucket_count; i++) {
        RendezvousItem *item = TAKE(rendezvous->buckets[i]);
        while (item != NULL) {
            RendezvousItem *next = item->next;
            item->next = all;
            all = item;
            item = next;
        }
    }
    rendezvous->item_count = 0;
    rendezvous->parked_bytes = 0;
    return all;
}

static Parked *
parked_new(int kind, Slice key, uint64_t hash, bool is_dead)
{
    Parked *parked = memory_new(1, sizeof *parked + key.size);
    if (parked != NULL) {
        memcpy(parked->key, key.data, key.size);
        parked->item = (RendezvousItem){.hash = hash, .key = slice_of(parked->key, key.size), .kind = kind};
        parked->is_dead = is_dead;
    }
    return parked;
}

static void
parked_free(Parked *parked)
{
    tensor_unref(&parked->tensor);
    memory_free(parked);
}

static size_t
parked_bytes(const Parked *parked)
{
    return parked->is_dead ? 0 : tensor_byte_size(&parked->tensor);
}

static void
waiter_answer(RendezvousItem *item, RendezvousMessage *message)
{
    RendezvousWaiter *waiter = (RendezvousWaiter *)(void *)item;
    waiter->done(waiter, message);
    tensor_unref(&message->tensor);
}

/* Ends items that were taken out of the table: answers waiters with the abort, and frees values. */
static void
items_end(Rendezvous *rendezvous, RendezvousItem *items)
{
    while (items != NULL) {
        RendezvousItem *next = items->next;
        if (items->kind == ITEM_WAITER) {
            RendezvousMessage message = {.code = rendezvous->code, .error = rendezvous->error};
            waiter_answer(items, &message);
        } else {
            parked_free((Parked *)(void *)items);
        }
        items = next;
    }
}

void
rendezvous_unref(Rendezvous *rendezvous)
{
    if (rendezvous == NULL || !reference_count_drop(&rendezvous->reference_count)) {
        return;
    }
    items_end(rendezvous, table_clear(rendezvous));
    if (rendezvous->buckets != rendezvous->first_buckets) {
        memory_free(rendezvous->buckets);
    }
    mutex_done(&rendezvous->lock);
    memory_free(rendezvous);
}

/* Returns the slot that the key's receiving device names; this slot when the key names none. */
static uint32_t
key_receiver(const Rendezvous *rendezvous, Slice key)
{
    uint64_t slot = 0;
    Slice device = slice_part(key, slice_find(key, ';') + 1, key.size);
    Slice prefix = SLICE("/slot:");
    if (!slice_starts_with(device, prefix)) {
        return rendezvous->slot;
    }
    Slice rest = slice_part(device, prefix.size, device.size);
    bool is_number = slice_to_uint64(slice_part(rest, 0, slice_find(rest, '/')), &slot);
    return is_number && slot <= UINT32_MAX ? (uint32_t)slot : rendezvous->slot;
}

Status
rendezvous_send(Call *call, Rendezvous *rendezvous, Slice key, Tensor *tensor, bool is_dead)
{
    uint32_t receiver = key_receiver(rendezvous, key);
    if (receiver == rendezvous->slot) {
        return rendezvous_deliver(call, rendezvous, key, tensor, is_dead);
    }
    if (rendezvous->remote.send == NULL) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "slot %u has no way to slot %u for '%.*s'",
            rendezvous->slot, receiver, SLICE_PRINT(key));
    }
    return rendezvous->remote.send(rendezvous->remote.context, call, key, tensor, is_dead);
}

static Status
fail_aborted(Call *call, const Rendezvous *rendezvous)
{
    return call_fail(call, rendezvous->code, "%s", rendezvous->error);
}

/* Returns the item that waits for this key, taken out of the table. When no item does, puts `parked` into
 * the table and returns NULL. */
static RendezvousItem *
table_match(Rendezvous *rendezvous, Parked *parked, Place place)
{
    RendezvousItem **link = table_find(rendezvous, parked->item.key, parked->item.hash);
    if (*link != NULL && (*link)->kind == ITEM_WAITER) {
        return table_remove(rendezvous, link);
    }
    table_insert(rendezvous, &parked->item, place);
    rendezvous->parked_bytes += parked_bytes(parked);
    return NULL;
}

static void
move_tensor(Tensor *from, Tensor *to)
{
    *to = *from;
    *from = (Tensor){0};
}

static Status
deliver_value(Call *call, Rendezvous *rendezvous, Slice key, Tensor *tensor, bool is_dead, Place place)
{
    Parked *parked = parked_new(ITEM_VALUE, key, map_hash(key), is_dead);
    if (parked == NULL) {
        return call_fail_memory(call, "a sent tensor");
    }
    mutex_lock(&rendezvous->lock);
    if (rendezvous->code != STATUS_OK) {
        mutex_unlock(&rendezvous->lock);
        parked_free(parked);
        return fail_aborted(call, rendezvous);
    }
    if (tensor != NULL) {
        move_tensor(tensor, &parked->tensor);
    }
    RendezvousItem *waiter = table_match(rendezvous, parked, place);
    mutex_unlock(&rendezvous->lock);
    if (waiter != NULL) {
        RendezvousMessage message = {.is_dead = is_dead};
        move_tensor(&parked->tensor, &message.tensor);
        parked_free(parked);
        waiter_answer(waiter, &message);
    }
    return STATUS_OK;
}

Status
rendezvous_deliver(Call *call, Rendezvous *rendezvous, Slice key, Tensor *tensor, bool is_dead)
{
    return deliver_value(call, rendezvous, key, tensor, is_dead, PLACE_LAST);
}

Status
rendezvous_give_back(Call *call, Rendezvous *rendezvous, Slice key, Tensor *tensor, bool is_dead)
{
    return deliver_value(call, rendezvous, key, tensor, is_dead, PLACE_FIRST);
}

Status
rendezvous_announce(Call *call, Rendezvous *rendezvous, Slice key)
{
    if (rendezvous->remote.pull == NULL) {
        return call_fail(
            call, STATUS_UNIMPLEMENTED, "slot %u cannot pull '%.*s'", rendezvous->slot, SLICE_PRINT(key));
    }
    Parked *parked = parked_new(ITEM_ANNOUNCEMENT, key, map_hash(key), true);
    if (parked == NULL) {
        return call_fail_memory(call, "an announced tensor");
    }
    mutex_lock(&rendezvous->lock);
    Status code = rendezvous->code;
    RendezvousItem **link = table_find(rendezvous, key, parked->item.hash);
    bool is_awaited = code == STATUS_OK && *link != NULL && (*link)->kind == ITEM_WAITER;
    bool is_full = rendezvous->item_count >= RENDEZVOUS_ITEMS_MAX;
    if (is_awaited) {
        ((RendezvousWaiter *)(void *)*link)->is_pulled = true;
    }
    if (code == STATUS_OK && !is_awaited && !is_full) {
        table_insert(rendezvous, &parked->item, PLACE_LAST);
        parked = NULL;
    }
    mutex_unlock(&rendezvous->lock);
    if (parked != NULL) {
        parked_free(parked);
    }
    if (is_awaited) {
        rendezvous->remote.pull(rendezvous->remote.context, key);
    } else if (code == STATUS_OK && is_full) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "slot %u has %d tensors parked or announced already", rendezvous->slot, RENDEZVOUS_ITEMS_MAX);
    }
    return code == STATUS_OK ? STATUS_OK : fail_aborted(call, rendezvous);
}

/* Takes the key's value or announcement out of the table, or returns NULL when there is neither. Unless it
 * is a value, the waiter goes into the table and waits. */
static Parked *
table_take(Rendezvous *rendezvous, RendezvousWaiter *waiter)
{
    RendezvousItem **link = table_find(rendezvous, waiter->item.key, waiter->item.hash);
    Parked *parked = NULL;
    if (*link != NULL && (*link)->kind != ITEM_WAITER) {
        parked = (Parked *)(void *)table_remove(rendezvous, link);
        rendezvous->parked_bytes -= parked_bytes(parked);
    }
    waiter->is_pulled = parked != NULL && parked->item.kind == ITEM_ANNOUNCEMENT;
    if (parked == NULL || waiter->is_pulled) {
        table_insert(rendezvous, &waiter->item, PLACE_LAST);
    }
    return parked;
}

bool
rendezvous_receive(
    Rendezvous *rendezvous, Slice key, RendezvousWaiter *waiter, RendezvousMessage *ret_message)
{
    waiter->item = (RendezvousItem){.hash = map_hash(key), .key = key, .kind = ITEM_WAITER};
    mutex_lock(&rendezvous->lock);
    Status code = rendezvous->code;
    Parked *parked = code == STATUS_OK ? table_take(rendezvous, waiter) : NULL;
    mutex_unlock(&rendezvous->lock);
    if (code != STATUS_OK) {
        *ret_message = (RendezvousMessage){.code = code, .error = rendezvous->error};
        return true;
    }
    if (parked == NULL) {
        return false;
    }
    bool is_value = parked->item.kind == ITEM_VALUE;
    if (is_value) {
        *ret_message = (RendezvousMessage){.is_dead = parked->is_dead};
        move_tensor(&parked->tensor, &ret_message->tensor);
    } else {
        /* The announcement's copy of the key is used, since the waiter with its key may be gone as soon as
         * the value arrives. */
        rendezvous->remote.pull(rendezvous->remote.context, parked->item.key);
    }
    parked_free(parked);
    return is_value;
}

bool
rendezvous_forget(Rendezvous *rendezvous, RendezvousWaiter *waiter)
{
    mutex_lock(&rendezvous->lock);
    RendezvousItem **link = &rendezvous->buckets[waiter->item.hash & (rendezvous->bucket_count - 1)];
    while (*link != NULL && *link != &waiter->item) {
        link = &(*link)->next;
    }
    bool is_found = *link != NULL;
    if (is_found) {
        table_remove(rendezvous, link);
    }
    mutex_unlock(&rendezvous->lock);
    return is_found;
}

void
rendezvous_abort(Rendezvous *rendezvous, Status code, const char *message)
{
    assert(code != STATUS_OK);
    mutex_lock(&rendezvous->lock);
    if (rendezvous->code != STATUS_OK) {
        mutex_unlock(&rendezvous->lock);
        return;
    }
    Slice text = slice_part(slice_from_string(message), 0, sizeof rendezvous->error - 1);
    memcpy(rendezvous->error, text.data, text.size);
    rendezvous->code = code;
    RendezvousItem *items = table_clear(rendezvous);
    mutex_unlock(&rendezvous->lock);
    items_end(rendezvous, items);
}

uint64_t
rendezvous_parked_bytes(Rendezvous *rendezvous)
{
    mutex_lock(&rendezvous->lock);
    uint64_t bytes = rendezvous->parked_bytes;
    mutex_unlock(&rendezvous->lock);
    return bytes;
}
