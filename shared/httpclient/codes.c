#include "shared/httpclient/codes.h"

typedef struct CodeRow {
    CURLcode code;
    CurlMeaning meaning;
} CodeRow;

static const CodeRow rows[] = {
    {CURLE_UNSUPPORTED_PROTOCOL, {STATUS_INVALID_ARGUMENT, "is no http or https address"}},
    {CURLE_URL_MALFORMAT, {STATUS_INVALID_ARGUMENT, "is no address"}},
    {CURLE_BAD_FUNCTION_ARGUMENT, {STATUS_INVALID_ARGUMENT, "cannot be asked this way"}},
    {CURLE_COULDNT_RESOLVE_PROXY, {STATUS_UNAVAILABLE, "is behind a proxy whose name is not known"}},
    {CURLE_COULDNT_RESOLVE_HOST, {STATUS_UNAVAILABLE, "has a name that is not known"}},
    {CURLE_COULDNT_CONNECT, {STATUS_UNAVAILABLE, "cannot be reached"}},
    {CURLE_SSL_CONNECT_ERROR, {STATUS_UNAVAILABLE, "does not speak TLS with us"}},
    {CURLE_SEND_ERROR, {STATUS_UNAVAILABLE, "closed the connection"}},
    {CURLE_RECV_ERROR, {STATUS_UNAVAILABLE, "closed the connection"}},
    {CURLE_GOT_NOTHING, {STATUS_UNAVAILABLE, "closed the connection without an answer"}},
    {CURLE_WEIRD_SERVER_REPLY, {STATUS_UNAVAILABLE, "does not speak HTTP"}},
    {CURLE_HTTP2, {STATUS_UNAVAILABLE, "broke off the connection"}},
    {CURLE_HTTP2_STREAM, {STATUS_UNAVAILABLE, "broke off the request"}},
    {CURLE_PARTIAL_FILE, {STATUS_DATA_LOSS, "cut its answer short"}},
    {CURLE_BAD_CONTENT_ENCODING, {STATUS_DATA_LOSS, "sent an answer that cannot be decoded"}},
    {CURLE_OPERATION_TIMEDOUT, {STATUS_DEADLINE_EXCEEDED, "did not answer in time"}},
    {CURLE_ABORTED_BY_CALLBACK, {STATUS_CANCELLED, "was not waited for"}},
    {CURLE_OUT_OF_MEMORY, {STATUS_RESOURCE_EXHAUSTED, "could not be asked for lack of memory"}},
    {CURLE_PEER_FAILED_VERIFICATION, {STATUS_FAILED_PRECONDITION, "is not trusted"}},
    {CURLE_SSL_CACERT_BADFILE, {STATUS_FAILED_PRECONDITION, "has no authorities to be checked by"}},
    {CURLE_SSL_CERTPROBLEM, {STATUS_FAILED_PRECONDITION, "does not take our certificate"}},
};

CurlMeaning
curl_meaning(CURLcode code, bool was_connected)
{
    static const CurlMeaning unreached = {STATUS_UNAVAILABLE, "cannot be reached in time"};
    static const CurlMeaning unknown = {STATUS_UNKNOWN, "could not be asked"};
    if (code == CURLE_OPERATION_TIMEDOUT && !was_connected) {
        return unreached;
    }
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        if (rows[index].code == code) {
            return rows[index].meaning;
        }
    }
    return unknown;
}
