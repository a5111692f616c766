/* Networks that are captured and replayed as CUDA graphs beside the same launched plainly, on whatever card
 * there is: a real one, too. */
#include "tests/support/captured_networks.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_fixture.h"

enum { FIRST_SEED = 101, NETWORKS = 4 };

static void
begin(CudaFixture *fixture)
{
    cuda_fixture_begin(fixture);
    accelerator_capture(fixture->opened.device);
}

/* Ends it when something was replayed, and no capture was refused. */
static void
end(CudaFixture *fixture)
{
    const DeviceCounts *counts = &fixture->opened.device->counts;
    assert_true(atomic_load_relaxed(&counts->replayed) > 0);
    assert_int_equal(atomic_load_relaxed(&counts->uncaptured[CAPTURE_DEVICE_REFUSES]), 0);
    assert_int_equal(atomic_load_relaxed(&counts->uncaptured[CAPTURE_LAUNCH_FAILED]), 0);
    captures_free(TAKE(fixture->opened.device->captures));
    cuda_fixture_end(fixture);
}

static void
replayed_networks_have_the_bits_of_launched_ones(void **state)
{
    (void)state;
    CudaFixture fixture;
    begin(&fixture);
    captured_networks_compare(&fixture.run, FIRST_SEED, NETWORKS);
    end(&fixture);
}

static void
replayed_training_has_the_bits_of_launched_training(void **state)
{
    (void)state;
    CudaFixture fixture;
    begin(&fixture);
    captured_training_compare(&fixture.run);
    end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replayed_networks_have_the_bits_of_launched_ones),
        cmocka_unit_test(replayed_training_has_the_bits_of_launched_training),
    };
    return cmocka_run_group_tests_name("worker/cuda/replay", tests, NULL, NULL);
}
