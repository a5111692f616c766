/* A wait is an object of its own: the room for it is granted by whichever thread gives room back, and the
 * word of it travels to the claim's loop, where the claim may have been closed meanwhile. */
#include "gateway/http/tenant_memory.h"

#include <assert.h>

#include "shared/base/list.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { WIDE_SHARE = 8 };

struct TenantMemory {
    Mutex mutex; /* guards the members below, and all accounts */
    size_t size_max;
    size_t held;
    size_t wide;
    Map *accounts; /* tenant → MemoryAccount */
    ListLink waits;
};

/* The memory that one tenant holds. */
struct MemoryAccount {
    TenantId tenant;
    size_t held;
    int claim_count; /* open claims and waits whose word is on its way */
    int wait_count;
};

struct MemoryWait {
    Task task;     /* first */
    ListLink link; /* in TenantMemory.waits, until it is granted */
    TenantMemory *memory;
    MemoryAccount *account;
    MemoryClaim *claim; /* its loop's; NULL: it has been closed */
    Loop *loop;
    size_t size;
};

TenantMemory *
tenant_memory_new(size_t size_max)
{
    TenantMemory *memory = memory_new(1, sizeof *memory);
    Map *accounts = map_new();
    if (memory == NULL || accounts == NULL) {
        memory_free(memory);
        map_free(accounts);
        return NULL;
    }
    memory->size_max = size_max;
    memory->accounts = accounts;
    mutex_init(&memory->mutex);
    list_init(&memory->waits);
    return memory;
}

void
tenant_memory_free(TenantMemory *memory)
{
    if (memory == NULL) {
        return;
    }
    /* Waits that were granted when their loops had stopped have left their accounts open. */
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(memory->accounts, &cursor); entry != NULL;
         entry = map_next(memory->accounts, &cursor)) {
        memory_free(entry->value);
    }
    map_free(memory->accounts);
    mutex_done(&memory->mutex);
    memory_free(memory);
}

size_t
tenant_memory_held(TenantMemory *memory)
{
    mutex_lock(&memory->mutex);
    size_t held = memory->held;
    mutex_unlock(&memory->mutex);
    return held;
}

size_t
tenant_memory_most(const TenantMemory *memory)
{
    return memory->size_max / 2;
}

/* The mutex is held. */
static MemoryAccount *
account_open(TenantMemory *memory, TenantId tenant)
{
    MemoryAccount *account = map_get(memory->accounts, uuid_slice(&tenant.value));
    if (account == NULL) {
        account = memory_new(1, sizeof *account);
        if (account == NULL || !map_put(memory->accounts, uuid_slice(&tenant.value), account)) {
            memory_free(account);
            return NULL;
        }
        account->tenant = tenant;
    }
    account->claim_count++;
    return account;
}

/* The mutex is held. */
static void
account_close(TenantMemory *memory, MemoryAccount *account)
{
    assert(account->claim_count > 0);

    if (--account->claim_count == 0) {
        assert(account->held == 0 && account->wait_count == 0);
        (void)map_remove(memory->accounts, uuid_slice(&account->tenant.value));
        memory_free(account);
    }
}

/* Takes room when the tenant then holds no more than is left. The mutex is held. */
static bool
take_room(TenantMemory *memory, MemoryAccount *account, size_t size)
{
    size_t free_size = memory->size_max - memory->held;
    if (size > free_size || account->held + size > free_size - size) {
        return false;
    }
    memory->held += size;
    account->held += size;
    return true;
}

static void wait_is_granted(Task *task);

/* Gives room back and grants the waits that it is enough for, in the order in which they came. The mutex is
 * held. */
static void
give_room(TenantMemory *memory, MemoryAccount *account, size_t size)
{
    assert(account->held >= size && memory->held >= size);

    account->held -= size;
    memory->held -= size;
    LIST_EACH(&memory->waits, link)
    {
        MemoryWait *wait = LIST_ITEM(link, MemoryWait, link);
        if (take_room(memory, wait->account, wait->size)) {
            list_remove(&wait->link);
            wait->account->wait_count--;
            loop_post(wait->loop, &wait->task);
        }
    }
}

bool
memory_claim_open(MemoryClaim *claim, TenantMemory *memory, TenantId tenant, Loop *loop)
{
    assert(claim->memory == NULL && loop != NULL);

    mutex_lock(&memory->mutex);
    MemoryAccount *account = account_open(memory, tenant);
    mutex_unlock(&memory->mutex);
    if (account == NULL) {
        return false;
    }
    claim->memory = memory;
    claim->account = account;
    claim->loop = loop;
    return true;
}

/* The mutex is held. */
static void
wait_end(MemoryWait *wait)
{
    account_close(wait->memory, wait->account);
    memory_free(wait);
}

/* Ends the claim's wait; one that has been granted ends when its word has come. The mutex is held. */
static void
wait_abandon(MemoryWait *wait)
{
    bool is_queued = !list_is_empty(&wait->link);
    wait->claim = NULL;
    if (is_queued) {
        list_remove(&wait->link);
        wait->account->wait_count--;
        wait_end(wait);
    }
}

void
memory_claim_close(MemoryClaim *claim)
{
    TenantMemory *memory = claim->memory;
    if (memory == NULL) {
        return;
    }
    mutex_lock(&memory->mutex);
    if (claim->wait != NULL) {
        wait_abandon(claim->wait);
    }
    memory->wide -= claim->wide;
    give_room(memory, claim->account, claim->held);
    account_close(memory, claim->account);
    mutex_unlock(&memory->mutex);
    *claim = (MemoryClaim){.granted = claim->granted};
}

static void
wait_is_granted(Task *task)
{
    MemoryWait *wait = (MemoryWait *)(void *)task;
    TenantMemory *memory = wait->memory;
    MemoryClaim *claim = wait->claim;
    mutex_lock(&memory->mutex);
    if (claim == NULL) {
        give_room(memory, wait->account, wait->size);
    } else {
        claim->held += wait->size;
        claim->wait = NULL;
    }
    wait_end(wait);
    mutex_unlock(&memory->mutex);
    if (claim != NULL) {
        claim->granted(claim);
    }
}

/* The mutex is held. A tenant does not overtake its own waits, but for claims that hold memory: those that
 * wait may wait for it. */
static MemoryRoom
claim_take(MemoryClaim *claim, size_t size)
{
    TenantMemory *memory = claim->memory;
    bool must_queue = claim->account->wait_count > 0 && claim->held == 0;
    if (size > tenant_memory_most(memory)) {
        return MEMORY_ROOM_NEVER;
    }
    if (must_queue || !take_room(memory, claim->account, size)) {
        return MEMORY_ROOM_LATER;
    }
    claim->held += size;
    return MEMORY_ROOM_TAKEN;
}

MemoryRoom
memory_claim_take(MemoryClaim *claim, size_t size)
{
    assert(claim->memory != NULL);

    mutex_lock(&claim->memory->mutex);
    MemoryRoom room = claim_take(claim, size);
    mutex_unlock(&claim->memory->mutex);
    return room;
}

MemoryRoom
memory_claim_await(MemoryClaim *claim, size_t size)
{
    assert(claim->memory != NULL && claim->wait == NULL && claim->granted != NULL);

    TenantMemory *memory = claim->memory;
    MemoryWait *wait = memory_new(1, sizeof *wait);
    mutex_lock(&memory->mutex);
    MemoryRoom room = claim_take(claim, size);
    if (room == MEMORY_ROOM_LATER && wait != NULL) {
        *wait = (MemoryWait){
            .task.run = wait_is_granted,
            .memory = memory,
            .account = claim->account,
            .claim = claim,
            .loop = claim->loop,
            .size = size,
        };
        claim->wait = wait;
        claim->account->claim_count++;
        claim->account->wait_count++;
        list_append(&memory->waits, &wait->link);
        wait = NULL;
    } else if (room == MEMORY_ROOM_LATER) {
        room = MEMORY_ROOM_NEVER;
    }
    mutex_unlock(&memory->mutex);
    memory_free(wait);
    return room;
}

bool
memory_claim_widen(MemoryClaim *claim, size_t size)
{
    assert(claim->memory != NULL);

    TenantMemory *memory = claim->memory;
    mutex_lock(&memory->mutex);
    bool is_taken = claim->account->wait_count == 0 && memory->wide + size <= memory->size_max / WIDE_SHARE &&
                    claim_take(claim, size) == MEMORY_ROOM_TAKEN;
    memory->wide += is_taken ? size : 0;
    claim->wide += is_taken ? size : 0;
    mutex_unlock(&memory->mutex);
    return is_taken;
}

void
memory_claim_give(MemoryClaim *claim, size_t size)
{
    assert(claim->memory != NULL && claim->held >= size);

    mutex_lock(&claim->memory->mutex);
    claim->held -= size;
    give_room(claim->memory, claim->account, size);
    mutex_unlock(&claim->memory->mutex);
}

void
memory_claim_split(MemoryClaim *claim, size_t size, Loop *loop, MemoryClaim *part)
{
    assert(claim->memory != NULL && claim->held - claim->wide >= size);
    assert(part->memory == NULL && loop != NULL);

    TenantMemory *memory = claim->memory;
    mutex_lock(&memory->mutex);
    claim->account->claim_count++;
    claim->held -= size;
    part->memory = memory;
    part->account = claim->account;
    part->loop = loop;
    part->held = size;
    mutex_unlock(&memory->mutex);
}
