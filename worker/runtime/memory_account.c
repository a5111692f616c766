#include "worker/runtime/memory_account.h"

#include "shared/base/memory.h"

/* Counted for the owner: far above all bytes, so that the sum is zero only when owner and buffers are gone.
 */
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
    if (account != NULL && __atomic_sub_fetch(&account->counted, OWNER, __ATOMIC_ACQ_REL) == 0) {
        memory_free(account);
    }
}

/* Only an account that is owned grows. */
static void
raise_peak(MemoryAccount *account, int64_t bytes)
{
    int64_t peak = __atomic_load_n(&account->peak, __ATOMIC_RELAXED);
    while (bytes > peak && !__atomic_compare_exchange_n(
                               &account->peak, &peak, bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

void
memory_account_count(MemoryAccount *account, int64_t change, int64_t highest)
{
    const int64_t now = __atomic_add_fetch(&account->counted, change, __ATOMIC_ACQ_REL);
    if (now == 0) {
        memory_free(account);
    } else if (highest > 0) {
        raise_peak(account, now - change + highest - OWNER);
    }
}

bool
memory_account_admits(MemoryAccount *account, int64_t more)
{
    const int64_t then = __atomic_load_n(&account->counted, __ATOMIC_RELAXED) - OWNER + more;
    const bool fits = account->limit == 0 || then <= 0 || (uint64_t)then <= account->limit;
    if (!fits) {
        __atomic_add_fetch(&account->refusals, 1, __ATOMIC_RELAXED);
    }
    return fits;
}

uint64_t
memory_account_in_use(const MemoryAccount *account)
{
    const int64_t bytes = __atomic_load_n(&account->counted, __ATOMIC_RELAXED) - OWNER;
    return bytes < 0 ? 0 : (uint64_t)bytes;
}

uint64_t
memory_account_peak(const MemoryAccount *account)
{
    return (uint64_t)__atomic_load_n(&account->peak, __ATOMIC_RELAXED);
}

bool
memory_account_has_refused(const MemoryAccount *account)
{
    return __atomic_load_n(&account->refusals, __ATOMIC_RELAXED) > 0;
}

bool
memory_account_reset(MemoryAccount *account)
{
    if (__atomic_load_n(&account->counted, __ATOMIC_ACQUIRE) != OWNER) {
        return false;
    }
    account->peak = 0;
    account->refusals = 0;
    account->limit = 0;
    return true;
}
