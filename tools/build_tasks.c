/* build_tasks.c: `tenon build NETWORK.tenon -o FOLDER`: writes a kernel and a header for each distinct
 * program of a network. */
#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>

#include "schedule/state.h"
#include "tools/build.h"

/* The task's name as a C identifier, malloc'ed; NULL: no memory. Other characters become underscores, and a
 * name that does not begin with a letter gets a prefix. */
static char *c_name(const tn_task *task) {
  const char *name = task->name ? task->name : tn_program_key(task->program);
  runtime_str out = {0};
  if (!isalpha((unsigned char)*name)) runtime_str_add(&out, "kernel_");
  for (const char *c = name; *c; ++c) runtime_str_addn(&out, isalnum((unsigned char)*c) ? c : "_", 1);
  return out.data;
}

/* Whether a task before task I has the same program (*SAME is set) or another program under the same C name. */
static bool is_known(const tn_network *net, int i, bool *same) {
  char *name = c_name(&net->tasks[i]);
  bool is_clash = false;
  *same = false;
  for (int k = 0; k < i && name; ++k) {
    char *other = c_name(&net->tasks[k]);
    *same |= strcmp(tn_program_key(net->tasks[k].program), tn_program_key(net->tasks[i].program)) == 0;
    is_clash |= other && strcmp(other, name) == 0;
    free(other);
  }
  free(name);
  return *same || is_clash;
}

/* Writes FOLDER/NAME.o and FOLDER/NAME.h for one part of the kernel. False after a message. */
static bool write_part(tools_session *session, const tools_args *args, const char *name, const tn_schedule *schedule,
                       tn_build_part part) {
  runtime_str out = {0}, header = {0};
  const tn_build_options build = {.target = session->target, .name = name, .part = part};
  runtime_str_addf(&out, "%s/%s.o", args->output, name);
  runtime_str_addf(&header, "%s/%s.h", args->output, name);
  bool written = !out.failed && !header.failed && tools_write_kernel(session, schedule, &build, out.data, header.data);
  runtime_str_free(&out);
  runtime_str_free(&header);
  return written;
}

/* Writes a task's kernel. If it packs its weights, that is two functions: NAME_prepack packs them once, and
 * NAME takes what that has written. */
static bool write_task(tools_session *session, const tools_args *args, const char *name, const tn_schedule *schedule) {
  if (!schedule_has_parts(schedule)) return write_part(session, args, name, schedule, TN_BUILD_WHOLE);
  runtime_str packs = {0};
  runtime_str_addf(&packs, "%s_prepack", name);
  bool written = !packs.failed && write_part(session, args, packs.data, schedule, TN_BUILD_PREPACK) &&
                 write_part(session, args, name, schedule, TN_BUILD_PACKED);
  runtime_str_free(&packs);
  return written;
}

/* One program: finds its schedule and writes it. False after a message. */
static bool build_task(tools_session *session, const tools_args *args, const tn_task *task, tools_found *found) {
  session->program = task->program;
  tn_schedule *schedule = tools_find_schedule(session, args, found);
  char *name = c_name(task);
  bool built = schedule && name && write_task(session, args, name, schedule);
  free(name);
  tn_schedule_free(schedule);
  session->program = NULL;
  return built;
}

/* All distinct programs. A name that two of them would share is refused. False after a message. */
static bool build_all(tools_session *session, const tools_args *args, const tn_network *net, tools_found *found) {
  for (int i = 0; i < net->n; ++i) {
    bool same;
    bool known = is_known(net, i, &same);
    if (same) continue;
    if (known) {
      tools_fail(session, "%s: two tasks would be called alike: give the second one another name (as NAME)",
                 net->tasks[i].name);
      return false;
    }
    if (!build_task(session, args, &net->tasks[i], found)) return false;
  }
  return true;
}

int tools_build_tasks(tools_session *session, const tools_args *args, const char *log) {
  tn_network net;
  tools_found found = {.log = log};
  if (tn_network_read(session->ctx, args->operands[0], &net) != TN_OK) return TOOLS_FAILED;
  bool ok = mkdir(args->output, 0777) == 0 || errno == EEXIST;
  if (!ok) tools_fail(session, "cannot make folder %s: %s", args->output, strerror(errno));
  ok = ok && build_all(session, args, &net, &found);
  tn_network_free(&net);
  if (!ok) runtime_str_free(&found.missing), runtime_str_free(&found.transfers);
  if (!ok) return TOOLS_FAILED;
  return tools_tell_found(session, args, &found) ? TOOLS_OK : TOOLS_FAILED;
}
