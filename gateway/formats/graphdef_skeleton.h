/* Functions that graphdef_skeleton.c and saved_model_skeleton.c share. Private to gateway/formats. */
#pragma once

#include "gateway/formats/skeleton_scan.h"

/* Writes the skeleton of a SavedModel's saved_model.pb, which lies in this file. */
MUST_USE Status graphdef_skeleton_model(
    Call *call, const SkeletonRequest *request, const SkeletonFile *file, Skeleton *skeleton);
