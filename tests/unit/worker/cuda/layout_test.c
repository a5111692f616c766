/* Regions whose channels are last (worker/runtime/partition/layout.c) on a card: its plain kernels add in the
 * same order in either layout, so that no bit differs. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_fixture.h"
#include "tests/support/turned_graphs.h"
#include "worker/cuda/libraries.h"

/* cuDNN may choose another algorithm for another layout. */
static void
compare(const TurnedGraph *graph)
{
    CudaFixture fixture;
    cuda_fixture_begin(&fixture);
    fixture.run.accelerator->prefers_channels_last = true;
    turned_graph_compare(&fixture.run, graph, cuda_dnn() == NULL);
    cuda_fixture_end(&fixture);
}

static void
regions_have_the_bits_of_the_graph_as_it_was_written(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(turned_graphs); index++) {
        for (size_t n = 0; n < turned_graphs[index].count; n++) {
            compare(&turned_graphs[index].graphs[n]);
        }
    }
}

static void
images_of_all_sizes_have_the_same_bits(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(residual_feeds); index++) {
        TurnedGraph graph = residual_graphs[0];
        graph.feeds[0] = residual_feeds[index];
        compare(&graph);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_have_the_bits_of_the_graph_as_it_was_written),
        cmocka_unit_test(images_of_all_sizes_have_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
