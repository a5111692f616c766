#include "worker/cpu/convolve/store.h"

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

VECTOR_FUNCTION void
store_row_body(
    const float *sums, float bias, const float *addend, Bounds bounds, float *output, int64_t count)
{
    if (addend == NULL) {
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)
        {
            output[n] = clamp(sums[n] + bias, bounds);
        }
    } else {
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)
        {
            output[n] = clamp(sums[n] + bias + addend[n], bounds);
        }
    }
}

VECTOR_FUNCTION void
store_all_body(const Store *store, Bounds bounds)
{
    for (int64_t row = 0; row < store->rows; row++) {
        int64_t at = row * store->output_step;
        store_row_body(store->sums + row * store->sums_step, store->bias == NULL ? NO_BIAS : store->bias[row],
            store->addend == NULL ? NULL : store->addend + at, bounds, store->output + at, store->count);
    }
}

VECTOR_VARIANTS(store_all, (const Store *store, Bounds bounds), (store, bounds))

void
store_rows(const Store *store)
{
    FinishLimits limits = finish_limits(store->finish);
    store_all(store, (Bounds){limits.lowest, limits.highest});
    for (int64_t row = 0; row < store->rows && !limits.is_finished; row++) {
        finish_run(store->finish, NULL, store->output + row * store->output_step, store->count);
    }
}
