/* file.h: writing whole files or none. */
#ifndef TENON_CODEGEN_FILE_H
#define TENON_CODEGEN_FILE_H

#include "codegen/compile.h"

/* Writes PATH, complete or not at all. */
tn_status codegen_write_file(tn_context *ctx, const char *path, const void *data, size_t n);
/* Links an object into the shared object PATH with the system's C compiler, with libgomp and libm. */
tn_status codegen_link_shared(tn_context *ctx, const codegen_bytes *object, const char *path);

#endif
