"""Media types that schemathesis does not know: bytes that are sent as they are."""

import schemathesis


@schemathesis.serializer("application/x-npy", "application/x-protobuf", "application/onnx", "application/x-tar")
def send_bytes(context, value):  # pylint: disable=unused-argument
    return value if isinstance(value, bytes) else str(value).encode()
