/* files.c: the table of file formats; saving by a file's suffix, loading by its content.
 *
 * A format is a row of TN_PROFILE_FORMS and of `forms`. A new one needs a writer, and a reader that its
 * first bytes select. */
#include <errno.h>
#include <stdio.h>

#include "profile/files.h"
#include "runtime/profiler/storage.h"

/* False without memory; then nothing was written. */
static bool write_folded(profiler_out *out, const tn_recording *r) {
  char *text = tn_recording_folded(r);
  if (text) profiler_out_text(out, text);
  free(text);
  return text != NULL;
}

static const char *const suffixes[TN_FORM_COUNT] = {
#define X(name, suffix, is_read, words) [TN_FORM_##name] = suffix,
    TN_PROFILE_FORMS(X)
#undef X
};

/* How each format is written. A compressed one passes through gzip on its way to the file. */
static const struct form {
  bool (*write)(profiler_out *out, const tn_recording *r);
  bool is_compressed;
} forms[TN_FORM_COUNT] = {
    [TN_FORM_REPORT] = {profiler_write_report, false}, [TN_FORM_CHROME] = {profiler_write_chrome, false},
    [TN_FORM_XSPACE] = {profiler_write_xspace, false}, [TN_FORM_BINARY] = {profiler_write_binary, true},
    [TN_FORM_CSV] = {profiler_write_csv, false},       [TN_FORM_HTML] = {profiler_write_html, false},
    [TN_FORM_FOLDED] = {write_folded, false},
};

/* ---- forms by name ----------------------------------------------------------------------------------------------- */

/* N is the length of TEXT without ".gz". A name that is only a suffix has no stem and does not count. */
static bool ends_in(const char *text, size_t n, const char *suffix) {
  size_t length = strlen(suffix);
  return n > length && strncmp(text + n - length, suffix, length) == 0;
}

/* The length of PATH without ".gz". */
static size_t bare_length(const char *path) {
  size_t n = strlen(path);
  return ends_in(path, n, ".gz") ? n - 3 : n;
}

tn_status tn_profile_form_of(tn_context *ctx, const char *path, tn_profile_form *out) {
  size_t n = path ? bare_length(path) : 0;
  for (int i = 0; i < TN_FORM_COUNT; ++i) {
    if (!ends_in(path, n, suffixes[i])) continue;
    *out = (tn_profile_form)i;
    return TN_OK;
  }
  runtime_str all = {0};
  for (int i = 0; i < TN_FORM_COUNT; ++i) runtime_str_addf(&all, "%s%s", i ? ", " : "", suffixes[i]);
  runtime_fail(ctx, TN_ERROR_ARGUMENT,
               "the name '%s' does not say which form is wanted: it must end in one of %s (or that and .gz)",
               path ? path : "", all.data ? all.data : "");
  runtime_str_free(&all);
  return TN_ERROR_ARGUMENT;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

char *tn_recording_write(tn_context *ctx, const tn_recording *r, tn_profile_form form, size_t *n) {
  profiler_out out;
  if (!r || (unsigned)form >= TN_FORM_COUNT) {
    runtime_fail(ctx, TN_ERROR_ARGUMENT, r ? "there is no form %d" : "there is no recording to be written (form %d)",
                 form);
    return NULL;
  }
  profiler_out_memory(&out);
  if (!forms[form].write(&out, r)) out.failed = true;
  char *data = profiler_out_take(&out, n);
  if (!data) runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while a recording was written");
  return data;
}

/* gzip's level for a file; formats that are always compressed use a quick one. */
static int gzip_level(const char *path, tn_profile_form form) {
  if (bare_length(path) < strlen(path)) return 6;
  return forms[form].is_compressed ? 1 : 0;
}

/* A file that cannot be written completely is removed. The cost of saving is added to the recording's
 * statistics, too late for the file itself. */
tn_status tn_recording_save(tn_context *ctx, tn_recording *r, const char *path) {
  tn_profile_form form;
  profiler_out out;
  uint64_t start_ns = runtime_now_ns();
  if (!r || !path) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "there is no recording, or no file's name, to save to");
  tn_status status = tn_profile_form_of(ctx, path, &form);
  if (status != TN_OK) return status;
  if (!profiler_out_open(ctx, &out, path, gzip_level(path, form))) return TN_ERROR_IO;
  if (!forms[form].write(&out, r)) out.failed = true;
  if (!profiler_out_close(ctx, &out, path)) return TN_ERROR_IO;
  r->info.stats.export_ns += runtime_now_ns() - start_ns;
  return TN_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Whether the file is JSON. An XSpace message begins with a newline (the tag of its planes) and a length,
 * which may look like a bracket; then the next character decides. */
static bool is_json(const profiler_in *in) {
  static const char blanks[] = " \t\r\n", after[] = " \t\r\n\"{}[]";
  size_t at = in->at;
  while (at < in->n && memchr(blanks, in->data[at], sizeof blanks - 1)) ++at;
  bool is_bracket = at < in->n && (in->data[at] == '{' || in->data[at] == '[');
  if (at == in->at || at + 1 >= in->n) return is_bracket;
  return is_bracket && memchr(after, in->data[at + 1], sizeof after - 1);
}

/* Compares as many bytes as there are. */
static bool begins_with(const profiler_in *in, const char *magic) {
  size_t n = RUNTIME_MIN(in->n - in->at, strlen(magic));
  return memcmp(in->data + in->at, magic, n) == 0;
}

/* Whether the file is text, with a visible character first. An XSpace message begins with a tag; among tags
 * only that of hosts, '"', is visible. */
static bool is_text(const profiler_in *in) {
  size_t at = in->at;
  while (at < in->n && in->data[at] == ' ') ++at;
  return at < in->n && in->data[at] > ' ' && in->data[at] < 0x7f && (at > in->at || in->data[at] != '"');
}

/* Decides by the first bytes: JSON, our magic, a database, text, or otherwise messages. PATH is NULL for
 * bytes in memory. */
static tn_recording *read_any(tn_context *ctx, profiler_in *in, const char *name, const char *path) {
  int c = profiler_in_peek(in);
  if (c >= 0 && begins_with(in, PROFILER_BINARY_MAGIC)) return profiler_read_binary(ctx, in, name);
  if (c >= 0 && is_json(in)) return profiler_read_chrome(ctx, in, name);
  if (c >= 0 && begins_with(in, PROFILER_SQLITE_MAGIC) && in->n > sizeof PROFILER_SQLITE_MAGIC) {
    if (path) return profiler_read_sqlite(ctx, path);
    return runtime_fail(ctx, TN_ERROR_PARSE, "%s: an SQLite database is read from a file", name), NULL;
  }
  if (c >= 0) return (is_text(in) ? profiler_read_perf : profiler_read_xspace)(ctx, in, name);
  runtime_fail(ctx, TN_ERROR_PARSE, "%s: %s", name, in->failed ? in->failed : "it is empty");
  return NULL;
}

/* Such a file is mapped, not read: it may be sparse and much longer than its contents. */
static bool is_buffers_file(profiler_in *in) {
  return profiler_in_peek(in) >= 0 && in->n >= sizeof STORAGE_MAGIC &&
         memcmp(in->data, STORAGE_MAGIC, sizeof STORAGE_MAGIC) == 0;
}

/* Decides by content, never by suffix, since files get renamed. */
tn_recording *tn_recording_load(tn_context *ctx, const char *path) {
  profiler_in in;
  uint64_t start_ns = runtime_now_ns();
  if (!path) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "there is no file's name to load"), NULL;
  if (!profiler_in_open(ctx, &in, path)) return NULL;
  bool is_buffers = is_buffers_file(&in);
  tn_recording *r = is_buffers ? NULL : read_any(ctx, &in, path, path);
  profiler_in_close(&in);
  if (is_buffers) r = tn_recording_recover(ctx, path);
  if (r) r->info.stats.parse_ns = runtime_now_ns() - start_ns;
  return r;
}

tn_recording *tn_recording_read(tn_context *ctx, const void *data, size_t n) {
  profiler_in in;
  if (!RUNTIME_GIVEN(ctx, data)) return NULL;
  profiler_in_memory(&in, data, n);
  return read_any(ctx, &in, "the recording", NULL);
}
