/* The texts of headers that NVRTC is given, written into the plugin by the build (tools/embed_text). */
#pragma once

extern const char convert_cuh[];
extern const char fused_cuh[];
extern const char fused_h[];
extern const char functions_cuh[];
extern const char functions_h[];
extern const char language_cuh[];
extern const char offsets_cuh[];
extern const char values_cuh[];
