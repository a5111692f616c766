/* ONNX's discrete Fourier transforms: of a whole axis, and of the frames of a signal. */
#include "shared/ops/family.h"
#include "shared/ops/fourier/rule.h"

static Status
infer_dft(Call *call, InferContext *context)
{
    Fourier fourier;
    TRY(dft_read(call, context, &fourier));
    context->outputs[0] = fourier.output;
    return STATUS_OK;
}

static Status
infer_stft(Call *call, InferContext *context)
{
    Fourier fourier;
    TRY(stft_read(call, context, &fourier));
    context->outputs[0] = fourier.output;
    return STATUS_OK;
}

static const OpDefinition fourier_ops[] = {
    OP("onnx::DFT(input:T1, dft_length?:T2, axis?:int64)->(output:T1) {inverse:int=0, onesided:int=0, "
       "T1:type, T2:type}",
        0, infer_dft),
    OP("onnx::STFT(signal:T1, frame_step:T2, window?:T1, frame_length?:T2)->(output:T1) {onesided:int=1, "
       "T1:type, T2:type}",
        0, infer_stft),
};

OP_FAMILY(fourier, fourier_ops);
