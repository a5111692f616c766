/* Triangular filters of a spectrum, on the mel scale. */
#include "shared/ops/family.h"
#include "shared/ops/generate/mel_rule.h"

static Status
infer_mel_scale(Call *call, InferContext *context)
{
    MelScale scale;
    TRY(mel_scale_read(call, context, &scale));
    context->outputs[0] = scale.output;
    return STATUS_OK;
}

static const OpDefinition mel_ops[] = {
    OP("onnx::MelWeightMatrix(num_mel_bins:T1, dft_length:T1, sample_rate:T1, lower_edge_hertz:T2, "
       "upper_edge_hertz:T2)->(output:output_datatype) {output_datatype:type=DT_FLOAT, T1:type, T2:type}",
        0, infer_mel_scale),
};

OP_FAMILY(generate_mel, mel_ops);
