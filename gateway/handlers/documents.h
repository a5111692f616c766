/* Files that travel inside the gateway, embedded by the build (tools/embed_text). */
#pragma once

extern const char openapi_yaml[];
extern const char openapi_json[];
