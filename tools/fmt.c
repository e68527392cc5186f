/* fmt.c: `tenon fmt`: lays program and schedule files out in one way. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/new_file.h"
#include "tools/tools.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("check", 0, FLAG, checks, NULL,
                 "write nothing; name the files that are laid out otherwise (status 1)"),
    TOOLS_OPTION("in-place", 'i', FLAG, is_in_place, NULL, "write each file back, unless it is laid out so already"),
    TOOLS_OPTION_END,
};

const tools_verb tools_fmt = {
    .name = "fmt",
    .operands = "FILE... [--check | -i]",
    .summary = "lay out program and schedule files",
    .details =
        "Prints each FILE (- is standard input) with blanks, indentation and empty lines as Tenon writes them.\n"
        "Comments stay, and so do the lines of statements; equals signs and comments that are aligned in\n"
        "lines that follow each other stay aligned. Nothing but blanks changes; doing it twice changes\n"
        "nothing more. A FILE need not be complete, but its brackets have to fit.",
    .examples =
        "tenon fmt matmul.te\n"
        "tenon fmt --check *.te",
    .options = options,
    .min_operands = 1,
    .max_operands = TOOLS_MAX_OPERANDS,
    .run = run,
};

/* Replaces a file at once and completely, with the old file's mode. A symbolic link stays one: the file
 * that it leads to is replaced. False after a message. */
static bool write_back(tools_session *session, const char *path, const char *text) {
  struct stat info;
  runtime_new_file file = {.fd = -1};
  char *real = realpath(path, NULL);
  size_t n = strlen(text);
  bool ok = real && stat(real, &info) == 0 && access(real, W_OK) == 0 && runtime_new_file_open(&file, real);
  for (size_t done = 0; ok && done < n;) {
    ssize_t wrote = write(file.fd, text + done, n - done);
    ok = wrote > 0 || (wrote < 0 && errno == EINTR);
    if (wrote > 0) done += (size_t)wrote;
  }
  ok = ok && fchmod(file.fd, info.st_mode & 07777) == 0 && runtime_new_file_keep(&file, real);
  if (!ok) tools_fail(session, "cannot write %s: %s", path, strerror(errno));
  runtime_new_file_drop(&file);
  free(real);
  return ok;
}

/* Prints, writes back or checks one file's text, as the options say, and counts the files that are laid out
 * otherwise. False after a message. */
static bool settle(tools_session *session, const tools_args *args, const char *path, const char *text,
                   const char *formatted, int *n_differ) {
  bool is_same = strcmp(text, formatted) == 0;
  *n_differ += !is_same;
  if (args->checks) {
    if (!is_same) puts(path), fflush(stdout);
    return true;
  }
  if (args->is_in_place) return is_same || write_back(session, path, formatted);
  fputs(formatted, stdout);
  return true;
}

/* Formats one file, with the file's name in messages. False after a message. */
static bool format_file(tools_session *session, const tools_args *args, const char *path, int *n_differ) {
  char *text = tools_read(session, path);
  session->file = text ? path : NULL;
  char *formatted = text ? tn_format(session->ctx, text) : NULL;
  session->file = NULL;
  bool ok = formatted && settle(session, args, path, text, formatted, n_differ);
  free(text);
  free(formatted);
  tn_context_clear(session->ctx);
  return ok;
}

/* Goes through all files, even when one of them fails. */
static int run(const tools_args *args) {
  if (args->checks && args->is_in_place) return tools_usage(args->verb, "--check and --in-place exclude each other");
  for (int i = 0; args->is_in_place && i < args->n_operands; ++i)
    if (strcmp(args->operands[i], "-") == 0) return tools_usage(args->verb, "standard input has no place to write to");
  tools_session session;
  int n_differ = 0;
  bool ok = tools_open(&session, args);
  for (int i = 0; session.ctx && i < args->n_operands; ++i)
    ok &= format_file(&session, args, args->operands[i], &n_differ);
  if (args->checks && n_differ > 0)
    ok = tools_fail(&session, "%d of %d files are laid out otherwise: `tenon fmt -i` writes them", n_differ,
                    args->n_operands) == TOOLS_OK;
  tools_close(&session);
  return ok ? TOOLS_OK : TOOLS_FAILED;
}
