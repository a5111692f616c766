#include "tests/simulation/chance.h"

uint64_t chance_seed;
uint64_t simulated_ns;

static uint64_t chance_state;

void
chance_begin(uint64_t seed)
{
    chance_seed = seed;
    chance_state = seed;
    simulated_ns = CLOCK_NS_PER_S;
}

/* This is splitmix64. */
uint64_t
chance(uint64_t below)
{
    uint64_t mixed = (chance_state += UINT64_C(0x9e3779b97f4a7c15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ (mixed >> 31)) % below;
}

bool
one_in(uint64_t count)
{
    return count > 0 && chance(count) == 0;
}

uint64_t
clock_monotonic_ns(void)
{
    return simulated_ns;
}

uint64_t
clock_wall_us(void)
{
    return simulated_ns / CLOCK_NS_PER_US;
}

void
clock_stamp(uint64_t wall_us, char ret_stamp[CLOCK_STAMP_SIZE])
{
    (void)snprintf(ret_stamp, CLOCK_STAMP_SIZE, "%llu", (unsigned long long)wall_us);
}
