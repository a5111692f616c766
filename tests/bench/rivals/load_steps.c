/* Sends steps in a closed loop (load.h) and prints "p50 in us<TAB>steps/s". Each reply must contain
 * EXPECTED.
 *
 *     load_steps ADDRESS SESSION BODY EXPECTED CONNECTIONS MILLISECONDS */
#include <stdio.h>
#include <string.h>

#include "shared/base/buffer.h"
#include "tests/bench/load.h"

enum { ARGUMENT_COUNT = 7 };

int
main(int argc, char **argv)
{
    uint64_t connection_count = 0;
    uint64_t duration_ms = 0;
    if (argc != ARGUMENT_COUNT || !slice_to_uint64(slice_from_string(argv[5]), &connection_count) ||
        connection_count - 1 >= LOAD_CONNECTIONS_MAX ||
        !slice_to_uint64(slice_from_string(argv[6]), &duration_ms)) {
        (void)fprintf(stderr, "usage: load_steps ADDRESS SESSION BODY EXPECTED CONNECTIONS MILLISECONDS\n");
        return 2;
    }
    AUTO_BUFFER request = {0};
    buffer_append_format(&request,
        "POST /api/v1/sessions/%s/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        argv[2], strlen(argv[3]), argv[3]);
    Load load = {
        .address = argv[1],
        .request = buffer_slice(&request),
        .status = 200,
        .expected = argv[4],
        .connection_count = (int)connection_count,
        .duration_ms = duration_ms,
    };
    LoadResult result;
    load_run(&load, &result);
    (void)printf("%.3f\t%.3f\n", result.p50_us, (double)result.count / result.seconds);
    return 0;
}
