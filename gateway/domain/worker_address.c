#include "gateway/domain/worker_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "shared/base/text.h"

enum { HOST_SIZE = INET6_ADDRSTRLEN };

static bool
is_port(Slice text)
{
    uint64_t port = 0;
    return text.size > 0 && text.data[0] != '0' && slice_to_uint64(text, &port) && port <= UINT16_MAX;
}

static bool
is_v4_host(const char *host)
{
    struct in_addr address;
    if (inet_pton(AF_INET, host, &address) != 1) {
        return false;
    }
    uint32_t number = ntohl(address.s_addr);
    return number >> 24 != 0 && number < UINT32_C(224) << 24;
}

static bool
is_v6_host(const char *host)
{
    struct in6_addr address;
    return inet_pton(AF_INET6, host, &address) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&address) &&
           !IN6_IS_ADDR_MULTICAST(&address);
}

bool
worker_address_is_ok(Slice address)
{
    char host[HOST_SIZE];
    size_t colon = slice_find_last(address, ':');
    if (colon >= address.size || !is_port(slice_part(address, colon + 1, SIZE_MAX))) {
        return false;
    }
    Slice name = slice_part(address, 0, colon);
    bool is_v6 = name.size >= 2 && name.data[0] == '[' && name.data[name.size - 1] == ']';
    if (is_v6) {
        name = slice_part(name, 1, name.size - 2);
    }
    if (name.size == 0 || name.size >= HOST_SIZE) {
        return false;
    }
    (void)snprintf(host, sizeof host, "%.*s", SLICE_PRINT(name));
    return is_v6 ? is_v6_host(host) : is_v4_host(host);
}
