#include "worker/runtime/memory_account.h"

#include "shared/base/atomic.h"
#include "shared/base/memory.h"

/* The owner's share of `counted`: far above any number of bytes, so that the sum is 0 only when the owner
 * has ended the account and all buffers are freed. */
static const int64_t OWNER = (int64_t)1 << 62;

MemoryAccount *
memory_account_new(void)
{
    MemoryAccount *account = memory_new(1, sizeof *account);
    if (account != NULL) {
        account->counted = OWNER;
    }
    return account;
}

void
memory_account_end(MemoryAccount *account)
{
    if (account != NULL && atomic_sub_acq_rel(&account->counted, OWNER) == 0) {
        memory_free(account);
    }
}

static void
raise_peak(MemoryAccount *account, int64_t bytes)
{
    int64_t peak = atomic_load_relaxed(&account->peak);
    while (bytes > peak && !atomic_compare_exchange_weak_relaxed(&account->peak, &peak, bytes)) {}
}

void
memory_account_count(MemoryAccount *account, int64_t change, int64_t highest)
{
    int64_t now = atomic_add_acq_rel(&account->counted, change);
    if (now == 0) {
        memory_free(account);
    } else if (highest > 0) {
        raise_peak(account, now - change + highest - OWNER);
    }
}

bool
memory_account_admits(MemoryAccount *account, int64_t more)
{
    int64_t then = atomic_load_relaxed(&account->counted) - OWNER + more;
    bool fits = account->limit == 0 || then <= 0 || (uint64_t)then <= account->limit;
    if (!fits) {
        atomic_add_relaxed(&account->refusals, 1);
    }
    return fits;
}

uint64_t
memory_account_in_use(const MemoryAccount *account)
{
    int64_t bytes = atomic_load_relaxed(&account->counted) - OWNER;
    return bytes < 0 ? 0 : (uint64_t)bytes;
}

uint64_t
memory_account_peak(const MemoryAccount *account)
{
    return (uint64_t)atomic_load_relaxed(&account->peak);
}

bool
memory_account_has_refused(const MemoryAccount *account)
{
    return atomic_load_relaxed(&account->refusals) > 0;
}

void
memory_account_refuse_tenant(MemoryAccount *account, uint64_t limit)
{
    atomic_store_relaxed(&account->tenant_limit, limit);
}

uint64_t
memory_account_tenant_limit(const MemoryAccount *account)
{
    return atomic_load_relaxed(&account->tenant_limit);
}

bool
memory_account_reset(MemoryAccount *account)
{
    if (atomic_load_acquire(&account->counted) != OWNER) {
        return false;
    }
    account->peak = 0;
    account->refusals = 0;
    account->limit = 0;
    account->tenant = 0;
    account->tenant_limit = 0;
    return true;
}
