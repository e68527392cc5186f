/* init.c: `tenon init DIR`: writes a small project to start from: a program, how it is tuned and built, and
 * a main program that calls the kernel. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tools.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("kind", 'k', TEXT, kind, "KIND",
                 "c: a Makefile and main.c (the usual); cmake: a CMakeLists.txt; python"),
    TOOLS_OPTION_END};

const tools_verb tools_init = {
    .name = "init",
    .operands = "DIR [--kind c|cmake|python]",
    .summary = "write a small project that builds and calls a kernel",
    .details =
        "Makes DIR, unless it is there, and writes a program (layer.te: a dense layer with bias and ReLU) and\n"
        "what builds, tunes, calls and checks its kernel. A file that is there already is a failure, and\n"
        "then nothing is written.",
    .examples =
        "tenon init layer && make -C layer run\n"
        "tenon init layer --kind python && python3 layer/main.py",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

/* The texts of the files, each complete: a test builds and runs the C project. */
static const char program[] =
    "# A dense layer: a product, a bias, and what is below 0 becomes 0. `tenon show layer.te -s auto` prints its "
    "loops.\n"
    "param M = 64, N = 256, K = 128\n"
    "input X: f32[M, K], W: f32[K, N], b: f32[N]\n"
    "P[i<M, j<N] = sum[k<K](X[i,k] * W[k,j])\n"
    "Y[i<M, j<N] = max(P[i,j] + b[j], 0.0)\n";

static const char main_c[] =
    "/* Calls the kernel that tenon made of layer.te, and compares it with plain loops. */\n"
    "#include <math.h>\n"
    "#include <stdio.h>\n\n"
    "#include \"layer.h\"\n\n"
    "enum { M = 64, N = 256, K = 128 };\n\n"
    "static float X[M * K], W[K * N], b[N], Y[M * N];\n\n"
    "int main(void) {\n"
    "  double worst = 0;\n"
    "  for (int i = 0; i < M * K; i++) X[i] = (float)(i % 7 - 3);\n"
    "  for (int i = 0; i < K * N; i++) W[i] = (float)(i % 5 - 2);\n"
    "  for (int i = 0; i < N; i++) b[i] = (float)(i % 3);\n"
    "  if (layer(X, W, b, Y) != 0) return fprintf(stderr, \"layer: no memory\\n\"), 1;\n"
    "  for (int i = 0; i < M; i++)\n"
    "    for (int j = 0; j < N; j++) {\n"
    "      float sum = 0;\n"
    "      for (int k = 0; k < K; k++) sum += X[i * K + k] * W[k * N + j];\n"
    "      worst = fmax(worst, fabs(Y[i * N + j] - fmaxf(sum + b[j], 0)));\n"
    "    }\n"
    "  printf(\"largest difference from plain loops: %g\\n\", worst);\n"
    "  return worst > 1e-3;\n"
    "}\n";

static const char makefile[] =
    "# make run: builds the kernel and calls it. make tune: searches for a better schedule, kept in layer.json.\n"
    "TENON ?= tenon\n\n"
    "main: main.c layer.o layer.h\n"
    "\t$(CC) -O2 main.c layer.o -lm $(if $(shell nm -u layer.o | grep GOMP),-lgomp) -o $@\n\n"
    "# The best record of layer.json where there is one, else the generic schedule.\n"
    "layer.o layer.h &: layer.te $(wildcard layer.json)\n"
    "\t$(TENON) build layer.te $(if $(wildcard layer.json),--log layer.json,-s auto) -o layer.o --header layer.h "
    "--name layer\n\n"
    "run: main\n"
    "\t./main\n\n"
    "tune:\n"
    "\t$(TENON) tune layer.te --log layer.json --trials 64\n\n"
    "clean:\n"
    "\trm -f main layer.o layer.h\n\n"
    ".PHONY: run tune clean\n";

static const char cmake_lists[] =
    "cmake_minimum_required(VERSION 3.25)\n"
    "project(layer C)\n"
    "find_package(tenon REQUIRED)\n\n"
    "# Once `tenon tune layer.te --log layer.json` has searched: LOG layer.json in place of SCHEDULE auto.\n"
    "tenon_add_kernel(layer PROGRAM layer.te SCHEDULE auto)\n"
    "add_executable(main main.c)\n"
    "target_link_libraries(main PRIVATE layer)\n";

static const char main_py[] =
    "\"\"\"Builds the kernel of layer.te, calls it on NumPy arrays, and compares it with NumPy. `python3 main.py tune` "
    "searches\n"
    "for a better schedule first; what it finds is kept in layer.json.\"\"\"\n"
    "import os\n"
    "import sys\n\n"
    "import numpy as np\n"
    "import tenon\n\n"
    "here = os.path.dirname(os.path.abspath(__file__))\n"
    "log = os.path.join(here, \"layer.json\")\n"
    "with open(os.path.join(here, \"layer.te\")) as file:\n"
    "    program = tenon.program(file.read())\n"
    "if sys.argv[1:] == [\"tune\"]:\n"
    "    program.tune(log, trials=64)\n"
    "if os.path.exists(log):\n"
    "    schedule = program.best(log)\n"
    "else:\n"
    "    schedule = program.schedule()\n"
    "    schedule.auto()\n"
    "kernel = schedule.build()\n\n"
    "X, W, b = (np.random.rand(*shape).astype(\"float32\") for shape in ((64, 128), (128, 256), (256,)))\n"
    "Y = np.empty((64, 256), \"float32\")\n"
    "kernel(X, W, b, Y)\n"
    "worst = np.abs(Y - np.maximum(X @ W + b, 0)).max()\n"
    "print(f\"largest difference from NumPy: {worst:g}\")\n"
    "assert worst < 1e-3\n";

/* A file of one kind of project. */
typedef struct file {
  const char *kind, *name, *text;
} file;

static const file files[] = {
    {"c", "layer.te", program},      {"c", "main.c", main_c},        {"c", "Makefile", makefile},
    {"cmake", "layer.te", program},  {"cmake", "main.c", main_c},    {"cmake", "CMakeLists.txt", cmake_lists},
    {"python", "layer.te", program}, {"python", "main.py", main_py},
};

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* Writes DIR/NAME to OUT, in place of what it held. False: no memory. */
static bool path_of(runtime_str *out, const char *dir, const char *name) {
  out->n = 0;
  runtime_str_addf(out, "%s/%s", dir, name);
  return !out->failed;
}

/* Mode "x": a file that was made since the check is not overwritten. Returns the exit status. */
static int write_file(tools_session *session, const char *path, const char *text) {
  FILE *f = fopen(path, "wxe");
  bool wrote = f && fputs(text, f) >= 0;
  if (f && fclose(f) != 0) wrote = false;
  if (wrote) return printf("%s\n", path), TOOLS_OK;
  return tools_fail(session, "%s cannot be written: %s", path, strerror(errno));
}

/* Whether none of the files exists. False after a message. */
static bool is_free(tools_session *session, const char *kind, const char *dir) {
  runtime_str path = {0};
  bool is_unused = true;
  for (int i = 0; i < RUNTIME_COUNT(files) && is_unused; ++i) {
    if (strcmp(files[i].kind, kind) != 0) continue;
    is_unused = path_of(&path, dir, files[i].name) && access(path.data, F_OK) != 0;
  }
  if (!is_unused) tools_fail(session, "%s is there already: nothing was written", path.failed ? dir : path.data);
  runtime_str_free(&path);
  return is_unused;
}

/* Writes all files or, when one of them exists, none. */
static int run(const tools_args *args) {
  tools_session none = {0};
  const char *dir = args->operands[0], *kind = args->kind ? args->kind : "c";
  runtime_str path = {0};
  if (strcmp(kind, "c") != 0 && strcmp(kind, "cmake") != 0 && strcmp(kind, "python") != 0)
    return tools_usage(args->verb, "--kind is c, cmake or python, not '%s'", kind);
  if (!is_free(&none, kind, dir)) return TOOLS_FAILED;
  if (mkdir(dir, 0777) != 0 && errno != EEXIST) return tools_fail(&none, "%s cannot be made: %s", dir, strerror(errno));
  int status = TOOLS_OK;
  for (int i = 0; i < RUNTIME_COUNT(files) && status == TOOLS_OK; ++i) {
    if (strcmp(files[i].kind, kind) != 0) continue;
    status = path_of(&path, dir, files[i].name) ? write_file(&none, path.data, files[i].text)
                                                : tools_fail(&none, "out of memory");
  }
  runtime_str_free(&path);
  return status;
}
