/* Finds the method for a verb and a path. */
#pragma once

#include "worker/serve/method.h"

/* Returns the method, or NULL; *ret_parameters are the parts of `path` that match the {…} of its pattern. */
const WorkerMethod *route_find(Slice verb, Slice path, Slice ret_parameters[WORKER_PARAMETERS_MAX]);
