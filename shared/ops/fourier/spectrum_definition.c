/* TensorFlow's Fourier transforms, of the last one to three dimensions. */
#include "shared/ops/family.h"
#include "shared/ops/fourier/spectrum_rule.h"

static Status
infer_spectrum(Call *call, InferContext *context)
{
    Spectrum spectrum;
    TRY(spectrum_read(call, context, &spectrum));
    context->outputs[0] = spectrum.output;
    return STATUS_OK;
}

#define COMPLEX(name)                                                                                        \
    OP(name "(input:Tcomplex)->(output:Tcomplex) {Tcomplex:type=DT_COMPLEX64}", 0, infer_spectrum)

#define TYPES " {Treal:type=DT_FLOAT, Tcomplex:type=DT_COMPLEX64}"
#define FROM_REAL(name) OP(name "(input:Treal, fft_length:int32)->(output:Tcomplex)" TYPES, 0, infer_spectrum)
#define TO_REAL(name) OP(name "(input:Tcomplex, fft_length:int32)->(output:Treal)" TYPES, 0, infer_spectrum)

static const OpDefinition spectrum_ops[] = {
    COMPLEX("FFT"),
    COMPLEX("IFFT"),
    COMPLEX("FFT2D"),
    COMPLEX("IFFT2D"),
    COMPLEX("FFT3D"),
    COMPLEX("IFFT3D"),
    FROM_REAL("RFFT"),
    FROM_REAL("RFFT2D"),
    FROM_REAL("RFFT3D"),
    TO_REAL("IRFFT"),
    TO_REAL("IRFFT2D"),
    TO_REAL("IRFFT3D"),
};

OP_FAMILY(fourier_spectrum, spectrum_ops);
