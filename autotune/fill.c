/* fill.c: what inputs hold while candidates are timed: the lines "NAME=HOW" of a task, and arrays, which
 * are written to files. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "autotune/internal.h"

/* The line of an input, behind its "=", and its length *N. NULL: there is none. */
static const char *line_of(const char *fill, const char *name, size_t *n) {
  size_t n_name = strlen(name);
  for (const char *line = fill; line && *line;) {
    size_t length = strcspn(line, "\n");
    if (length > n_name && strncmp(line, name, n_name) == 0 && line[n_name] == '=') {
      *n = length - n_name - 1;
      return line + n_name + 1;
    }
    line += length + (line[length] == '\n');
  }
  return NULL;
}

bool autotune_fill_names(const char *fill, const char *name) {
  size_t n;
  return line_of(fill, name, &n) != NULL;
}

tn_status autotune_fill_input(tn_context *ctx, const char *fill, const char *name, DLTensor *array, uint64_t seed) {
  size_t n = 0;
  const char *how = line_of(fill, name, &n);
  char *text = how ? strndup(how, n) : NULL;
  tn_status status =
      text ? tn_array_fill_as(ctx, array, text, seed) : runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory");
  free(text);
  return status;
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/* The input whose name is the N characters at NAME; NULL: there is none. */
static const tn_tensor *find_input(const tn_program *program, const char *name, size_t n) {
  for (int i = 0; i < program->n_inputs; ++i)
    if (strlen(program->args[i]->name) == n && strncmp(program->args[i]->name, name, n) == 0) return program->args[i];
  return NULL;
}

/* Fails, with the names of the inputs that there are. */
static tn_status no_such_input(const tn_program *program, const char *line, size_t n) {
  runtime_str names = {0};
  for (int i = 0; i < program->n_inputs; ++i) runtime_str_addf(&names, "%s%s", i ? ", " : "", program->args[i]->name);
  tn_status status =
      runtime_fail(program->ctx, TN_ERROR_ARGUMENT, "data '%.*s': the program has no input of that name: it has %s",
                   (int)n, line, names.n ? names.data : "none");
  runtime_str_free(&names);
  return status;
}

/* Tries whether a line's data can be made: kinds on one element, files on the whole input. */
static tn_status try_line(const tn_program *program, const char *line, const tn_tensor *input) {
  char *name = strndup(line, strcspn(line, "="));
  bool is_file = strncmp(line + strcspn(line, "=") + 1, "file:", 5) == 0;
  DLTensor *array = tn_array_new(program->ctx, input->dtype, is_file ? input->ndim : 0, input->shape);
  tn_status status = name && array ? autotune_fill_input(program->ctx, line, name, array, 0) : TN_ERROR_MEMORY;
  tn_array_free(array);
  free(name);
  return status;
}

tn_status autotune_fill_check(const tn_program *program, const char *fill) {
  tn_status status = TN_OK;
  for (const char *line = fill; status == TN_OK && line && *line;) {
    size_t n = strcspn(line, "\n"), n_name = strcspn(line, "=\n");
    const tn_tensor *input = find_input(program, line, n_name);
    if (n_name == n)
      status = runtime_fail(program->ctx, TN_ERROR_ARGUMENT, "data '%.*s': write NAME=HOW, as in A=uniform(0.1, 2)",
                            (int)n, line);
    else if (!input)
      status = no_such_input(program, line, n);
    else
      status = try_line(program, line, input);
    line += n + (line[n] == '\n');
  }
  return status;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* Writes an array to a temporary file and adds a line that names it. autotune_fill_close deletes the file. */
static tn_status write_array(const tn_program *program, const tn_task_input *input, runtime_str *fill) {
  char path[] = P_tmpdir "/tenon-input-XXXXXX";
  const tn_tensor *tensor = input->name ? find_input(program, input->name, strlen(input->name)) : NULL;
  if (!tensor) return no_such_input(program, input->name ? input->name : "", input->name ? strlen(input->name) : 0);
  int fd = mkstemp(path);
  if (fd < 0) return runtime_fail(program->ctx, TN_ERROR_IO, "%s: %s", path, strerror(errno));
  close(fd);
  runtime_str_addf(fill, "%s%s=file:%s", fill->n ? "\n" : "", input->name, path);
  return fill->failed ? TN_ERROR_MEMORY : runtime_npy_write(program->ctx, path, input->array);
}

tn_status autotune_fill_open(const tn_program *program, const char *lines, const tn_task_input *inputs, int n_inputs,
                             autotune_fill *out) {
  runtime_str text = {0};
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < n_inputs; ++i) status = write_array(program, &inputs[i], &text);
  out->n_files = n_inputs;
  if (lines && *lines) runtime_str_addf(&text, "%s%s", text.n ? "\n" : "", lines);
  out->text = text.data;
  if (text.failed) status = runtime_fail(program->ctx, TN_ERROR_MEMORY, "out of memory for the inputs' data");
  return status == TN_OK ? autotune_fill_check(program, out->text) : status;
}

/* Deletes the files, which the first lines name. */
void autotune_fill_close(autotune_fill *fill) {
  const char *line = fill->text;
  for (int i = 0; line && i < fill->n_files; ++i) {
    size_t n = strcspn(line, "\n"), skipped = strcspn(line, ":") + 1;
    char *path = skipped < n ? strndup(line + skipped, n - skipped) : NULL;
    if (path) unlink(path);
    free(path);
    line = line[n] ? line + n + 1 : NULL;
  }
  free(fill->text);
  *fill = (autotune_fill){0};
}
