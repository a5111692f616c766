#include "tests/support/cuda_fixture.h"

#include "tests/support/cmocka_all.h"

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

enum { HOST_THREADS = 3 };

void
cuda_fixture_begin(CudaFixture *fixture)
{
    RunFixture *run = &fixture->run;
    fixture_begin(run, HOST_THREADS);
    PluginOptions options = {
        .host = run->device, .device = "", .memory = 16 * MIB, .pinned_memory = 1, .libraries = ""};
    assert_status(&run->call, STATUS_OK, cuda_device_open(&run->call, &options, &fixture->opened));
    assert_status(&run->call, STATUS_OK,
        kernel_register(&run->call, "GPU", cuda_kernels_table, cuda_kernels_table_count));
    run->accelerator = fixture->opened.device;
}

void
cuda_fixture_end(CudaFixture *fixture)
{
    AWAIT(fixture_memory_in_use(&fixture->run) == 0);
    kernel_unregister("GPU");
    cuda_device_close(&fixture->opened);
    fixture->run.accelerator = NULL;
    fixture_end(&fixture->run);
    cuda_on_cpu_reset(true);
}
