/* Atomic operations on plain integers, booleans and pointers, valid in C11 and C++ (C's <stdatomic.h> is
 * not). The last word of a name is the memory order of the C11 standard; operations that add return the new
 * value.
 *
 * Which order to take: `relaxed` for counters and hints that guard nothing else; `acquire` to read what was
 * published by a `release`; `seq_cst` where two threads each write one variable and then read the other's. A
 * read-modify-write is at least `acq_rel` unless it only counts.
 *
 * Threads: any; a variable that is used here is used everywhere through these operations, or under a lock. */
#pragma once

#define atomic_load_relaxed(variable) __atomic_load_n((variable), __ATOMIC_RELAXED)
#define atomic_load_acquire(variable) __atomic_load_n((variable), __ATOMIC_ACQUIRE)
#define atomic_load_seq_cst(variable) __atomic_load_n((variable), __ATOMIC_SEQ_CST)

#define atomic_store_relaxed(variable, value) __atomic_store_n((variable), (value), __ATOMIC_RELAXED)
#define atomic_store_release(variable, value) __atomic_store_n((variable), (value), __ATOMIC_RELEASE)
#define atomic_store_seq_cst(variable, value) __atomic_store_n((variable), (value), __ATOMIC_SEQ_CST)

#define atomic_add_relaxed(variable, amount) __atomic_add_fetch((variable), (amount), __ATOMIC_RELAXED)
#define atomic_add_seq_cst(variable, amount) __atomic_add_fetch((variable), (amount), __ATOMIC_SEQ_CST)
#define atomic_add_acq_rel(variable, amount) __atomic_add_fetch((variable), (amount), __ATOMIC_ACQ_REL)
#define atomic_sub_relaxed(variable, amount) __atomic_sub_fetch((variable), (amount), __ATOMIC_RELAXED)
#define atomic_sub_acq_rel(variable, amount) __atomic_sub_fetch((variable), (amount), __ATOMIC_ACQ_REL)

/* Returns the value before the addition. */
#define atomic_fetch_add_relaxed(variable, amount) __atomic_fetch_add((variable), (amount), __ATOMIC_RELAXED)

/* Returns the value before. */
#define atomic_exchange_relaxed(variable, value) __atomic_exchange_n((variable), (value), __ATOMIC_RELAXED)
#define atomic_exchange_acq_rel(variable, value) __atomic_exchange_n((variable), (value), __ATOMIC_ACQ_REL)
#define atomic_exchange_seq_cst(variable, value) __atomic_exchange_n((variable), (value), __ATOMIC_SEQ_CST)

/* Stores `value` and returns true when the variable holds `*expected`; else reads it into `*expected` and
 * returns false. The weak form may also fail without a reason: it belongs into a loop. */
#define atomic_compare_exchange_acq_rel(variable, expected, value)                                           \
    __atomic_compare_exchange_n((variable), (expected), (value), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define atomic_compare_exchange_weak_relaxed(variable, expected, value)                                      \
    __atomic_compare_exchange_n((variable), (expected), (value), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define atomic_compare_exchange_weak_acq_rel(variable, expected, value)                                      \
    __atomic_compare_exchange_n((variable), (expected), (value), true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
#define atomic_compare_exchange_weak_seq_cst(variable, expected, value)                                      \
    __atomic_compare_exchange_n((variable), (expected), (value), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)

/* References to a shared object: a new one is made of one that is held, which needs no order. */
#define reference_count_add(count) ((void)atomic_add_relaxed((count), 1))

/* Returns true to whoever gave back the last reference: what others did with the object is seen by them. */
#define reference_count_drop(count) (atomic_sub_acq_rel((count), 1) == 0)
