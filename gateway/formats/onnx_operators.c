/* Finds how an operator is spelled out. */
#include "gateway/formats/onnx_spell.h"

static const OnnxSpellings *const tables[] = {
    &onnx_contrib_spellings,
    &onnx_attention_spellings,
    &onnx_classical_spellings,
    &onnx_label_spellings,
    &onnx_quantised_spellings,
    &onnx_random_spellings,
    &onnx_trees_spellings,
};

Status
onnx_spell_out(OnnxImport *import, OnnxNode *node)
{
    for (size_t table = 0; table < COUNT_OF(tables); table++) {
        for (size_t index = 0; index < tables[table]->count; index++) {
            const OnnxSpelling *row = &tables[table]->rows[index];
            if (slice_equals_string(node->type, row->type)) {
                return row->spell_out(import, node, row->argument, row->count);
            }
        }
    }
    return STATUS_OK;
}
