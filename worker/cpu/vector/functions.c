#include "worker/cpu/vector/functions.h"

const Bounds EXPONENTIAL_BOUNDS = {-104.0F, 89.5F};
const Bounds FRACTION_BOUNDS = {-50.0F, 0.0F};
const Bounds SWISH_BOUNDS = {-88.3F, 88.8F};
const Bounds TANGENT_BOUNDS = {-7.99881172180175781F, 7.99881172180175781F};
const Bounds UNIT_BOUNDS = {0.0F, 1.0F};
const Bounds RELU6_BOUNDS = {0.0F, 6.0F};
const float SCORE_MIN = -88.3F;
