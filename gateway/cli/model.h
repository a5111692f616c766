/* Models as they lie on this machine: one file, or one and those beside it.
 *
 *     model.onnx               and the files that it keeps tensors in
 *     a folder with one .onnx  the same
 *     a folder with            a SavedModel: its folder as a tar
 *       saved_model.pb
 *     an archive (.tar)        a SavedModel's, or an ONNX model's with its files
 *     anything else            by its name, or as --format says
 *
 * Ownership: model_close() closes the files; all else lives in the call's arena.
 * Errors:    INVALID_ARGUMENT, with EXIT_USAGE, names the file and what is wrong with it. */
#pragma once

#include "gateway/cli/command.h"
#include "gateway/cli/content.h"

typedef struct ModelFormat {
    const char *name; /* for --format and the API */
    const char *media_type;
    const char *extensions[4]; /* NULL-terminated */
} ModelFormat;

typedef struct ModelFile {
    const char *name; /* relative to the model's folder; the model's own is shown only */
    Content content;
} ModelFile;

typedef struct Model {
    const ModelFormat *format;
    ModelFile *files; /* the first is the model */
    size_t count;
    uint64_t size; /* of all files */
} Model;

/* Opens the model that the command's arguments name: a file or a folder, and more files that belong to it. */
MUST_USE Status model_open(Cli *cli, Model *ret_model);
void model_close(Model *model);
#define AUTO_MODEL CLEANUP(model_close) Model

/* Returns true for a graph as JSON, in which nothing can be left where it is. */
bool model_is_text(const Model *model);
