/* main.cc: generic schedules beside those of Halide's autoschedulers. Both sides get the same inputs, their
 * outputs are compared, and they are timed in turns.
 *
 * Usage: bench_halide [--height N] [--width N] [--seconds S] [--target WORDS] [--trials N] [--schedules] [PATTERN ...]
 * Halide's threads are those of HL_NUM_THREADS, ours those of the target. The ratio is the least time of the
 * best autoscheduler to the least of ours. With --trials each program is tuned too, and a second ratio says
 * what its winner makes. */
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include <tenon/tenon.hpp>

#include "pipelines.h"

namespace {

/* Halide's names for the autoschedulers, and below the plug-ins that have them. */
const char *const autoschedulers[] = {"Adams2019", "Mullapudi2016", "Li2018"};
const char *const plugins[] = {"adams2019", "mullapudi2016", "li2018"};
constexpr int n_autoschedulers = 3;
constexpr double tolerance = 2e-4; /* of the output's largest value */

/* The command line. */
struct options {
  int64_t height = 1536, width = 2560;
  double seconds = 1;
  std::string target = "";
  int trials = 0; /* of tuning; 0: none */
  bool prints_schedules = false;
  std::vector<std::string> patterns;
};

double now() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

/* WORDS with the costs of this machine added, measured here unless WORDS have costs. */
std::string with_costs(const std::string &words) {
  tenon::context ctx;
  if (words.find("costs=") != std::string::npos) return words;
  return words + " " + tenon::detail::check(ctx, tn_measure_costs(ctx));
}

/* ---- our side ----------------------------------------------------------------------------------------------------- */

/* A program as Tenon schedules it by itself (tn_schedule_auto), and as it tunes it, with its arrays.
 * Everything dies with the context. */
class ours {
public:
  ours(const pipeline &p, const options &o) : program_(parse(p, o)) {
    const tn_target *target = tenon::detail::check(ctx_, tn_target_new(ctx_, o.target.c_str()));
    const tn_machine machine = tn_target_machine(target);
    const tn_build_options options = {target, nullptr, false, false, TN_BUILD_WHOLE};
    tenon::schedule schedule = program_.schedule();
    double start = now();
    tenon::detail::check(ctx_, tn_schedule_auto(schedule, &machine));
    kernel_ = std::make_unique<tenon::kernel>(schedule.build(&options));
    made_s = now() - start;
    for (int i = 0; i < tn_program_arg_count(program_); i++) add(tn_program_arg(program_, i), i);
    if (o.trials > 0) tuned_ = std::make_unique<tenon::kernel>(tune(target, o.trials).build(&options));
  }
  void call() { call(*kernel_); }
  void call_tuned() { call(*tuned_); }
  int n_inputs() const { return static_cast<int>(raw_.size()) - 1; }
  DLTensor *arg(int i) const { return raw_[i]; }
  double made_s; /* seconds for ranking and building */

private:
  void call(tenon::kernel &kernel) {
    tenon::detail::check(ctx_, tn_call(ctx_, kernel, raw_.data(), static_cast<int>(raw_.size())));
  }
  /* The winner of TRIALS trials, whose log is not kept. */
  tenon::schedule tune(const tn_target *target, int trials) {
    char log[] = "/tmp/bench_halide.XXXXXX";
    const int file = mkstemp(log);
    if (file < 0) throw std::runtime_error("no temporary file for a log");
    close(file);
    tn_tune_options options = {};
    options.log = log;
    options.trials = trials;
    options.target = target;
    tn_tune_result result = {};
    const bool is_tuned = tn_tune(program_, &options, &result) == TN_OK;
    tn_schedule *best = is_tuned ? tn_apply_best(program_, target, log, nullptr) : nullptr;
    remove(log);
    return {ctx_, tenon::detail::check(ctx_, best)};
  }
  tenon::program parse(const pipeline &p, const options &o) {
    const std::string head = "param H = " + std::to_string(o.height) + ", W = " + std::to_string(o.width) + "\n";
    return ctx_.parse(head + p.text);
  }
  /* An array for an argument. Floats are filled by SEED; integers are indices below 1000 (see the gather). */
  void add(tn_tensor *t, int seed) {
    std::vector<int64_t> shape(tn_tensor_shape(t), tn_tensor_shape(t) + tn_tensor_rank(t));
    arrays_.push_back(ctx_.array(tn_tensor_dtype(t), shape));
    raw_.push_back(arrays_.back());
    if (tn_tensor_dtype(t) == TN_F32) arrays_.back().fill(seed + 1);
    else
      for (size_t i = 0; i < arrays_.back().bytes() / 4; i++) arrays_.back().data<int32_t>()[i] = int32_t(i * 389 % 1000);
  }

  tenon::context ctx_;
  tenon::program program_;
  std::unique_ptr<tenon::kernel> kernel_, tuned_;
  std::vector<tenon::array> arrays_;
  std::vector<DLTensor *> raw_;
};

/* ---- Halide's side ------------------------------------------------------------------------------------------------ */

Halide::Type type_of(const DLTensor *t) {
  return t->dtype.code == kDLInt ? Halide::Int(t->dtype.bits) : Halide::Float(t->dtype.bits);
}

/* Halide's order of dimensions: the innermost first. */
std::vector<int> extents_of(const DLTensor *t) {
  std::vector<int> extents(t->shape, t->shape + t->ndim);
  std::reverse(extents.begin(), extents.end());
  return extents;
}

/* A pipeline as one autoscheduler of Halide schedules it, reading our inputs' memory. The constructor throws
 * what Halide throws. */
class theirs {
public:
  theirs(const pipeline &p, const ours &like, const char *autoscheduler, const Halide::Target &target) {
    images in;
    for (int i = 0; i < like.n_inputs(); i++) in.push_back(input(like.arg(i)));
    Halide::Func f = p.halide(in);
    const DLTensor *out = like.arg(like.n_inputs());
    Halide::Region region;
    for (int extent : extents_of(out)) region.push_back({0, extent});
    f.set_estimates(region);
    pipeline_ = Halide::Pipeline(f);
    const char *threads = getenv("HL_NUM_THREADS");
    const Halide::MachineParams machine(threads ? atoi(threads) : 2, 32 << 20, 40);
    schedule = pipeline_.auto_schedule(autoscheduler, target, machine).schedule_source;
    pipeline_.compile_jit(target);
    result_ = Halide::Buffer<>(type_of(out), extents_of(out));
  }
  void call() { pipeline_.realize(result_); }
  const void *result() const { return result_.data(); }
  std::string schedule;

private:
  static Halide::ImageParam input(const DLTensor *t) {
    Halide::ImageParam param(type_of(t), t->ndim);
    const std::vector<int> extents = extents_of(t);
    for (int d = 0; d < t->ndim; d++) param.dim(d).set_estimate(0, extents[d]);
    param.set(Halide::Buffer<>(type_of(t), t->data, extents));
    return param;
  }
  Halide::Pipeline pipeline_;
  Halide::Buffer<> result_;
};

/* ---- comparing ---------------------------------------------------------------------------------------------------- */

/* The largest difference relative to the largest value. Integers: 1 when any of them differ. */
double difference(const DLTensor *a, const void *b) {
  const size_t n = tn_array_bytes(a) / 4;
  if (a->dtype.code == kDLInt) return memcmp(a->data, b, n * 4) == 0 ? 0 : 1;
  const float *x = static_cast<const float *>(a->data), *y = static_cast<const float *>(b);
  double largest = 0, worst = 0;
  for (size_t i = 0; i < n; i++) {
    largest = std::max(largest, double(std::fabs(x[i])));
    worst = std::isnan(y[i]) || std::isnan(x[i]) ? INFINITY : std::max(worst, double(std::fabs(x[i] - y[i])));
  }
  return worst / std::max(largest, 1e-30);
}

/* One routine to be timed, and the seconds of each of its calls. */
struct side {
  std::function<void()> call;
  std::vector<double> seconds; /* of calls; empty: it cannot do it */
  double least() const { return seconds.empty() ? INFINITY : *std::min_element(seconds.begin(), seconds.end()); }
  double spread() const {
    std::vector<double> s = seconds;
    std::sort(s.begin(), s.end());
    return s.empty() ? 0 : (s[s.size() * 3 / 4] - s[s.size() / 4]) / s[s.size() / 2];
  }
};

/* Times blocks of calls of all sides in turns, until SECONDS have passed and at least three rounds are done. */
void time_sides(std::vector<side> &sides, double seconds) {
  constexpr double block_s = 0.03;
  const double start = now();
  for (int round = 0; round < 3 || now() - start < seconds; round++)
    for (side &s : sides) {
      if (!s.call) continue;
      s.call();
      const double from = now();
      do {
        const double before = now();
        s.call();
        s.seconds.push_back(now() - before);
      } while (now() - from < block_s);
    }
}

/* What one pipeline came to: times of Halide's best beside ours. */
struct outcome {
  double ratio = 0;       /* to `auto`; 0: an output of ours is wrong */
  double tuned_ratio = 0; /* to the winner; 0: not tuned */
};

/* Compares one pipeline and prints its line. */
outcome compare(const pipeline &p, const options &o, const Halide::Target &target) {
  ours mine(p, o);
  std::vector<std::unique_ptr<theirs>> halide(n_autoschedulers);
  std::vector<side> sides(1 + n_autoschedulers + 1);
  side &automatic = sides[0], &tuned = sides[1 + n_autoschedulers];
  automatic.call = [&] { mine.call(); };
  if (o.trials > 0) tuned.call = [&] { mine.call_tuned(); };
  bool is_right = true;
  for (int i = 0; i < n_autoschedulers; i++) try {
      halide[i] = std::make_unique<theirs>(p, mine, autoschedulers[i], target);
      halide[i]->call();
      for (const side *s : {&automatic, &tuned}) {
        if (!s->call) continue;
        s->call();
        is_right &= difference(mine.arg(mine.n_inputs()), halide[i]->result()) <= tolerance;
      }
      sides[1 + i].call = [&halide, i] { halide[i]->call(); };
      if (o.prints_schedules) printf("---- %s, %s\n%s\n", p.name.c_str(), autoschedulers[i], halide[i]->schedule.c_str());
    } catch (const Halide::Error &e) {
      fprintf(stderr, "%s, %s: %s\n", p.name.c_str(), autoschedulers[i], e.what());
    }
  time_sides(sides, o.seconds);
  double best = INFINITY;
  for (int i = 0; i < n_autoschedulers; i++) best = std::min(best, sides[1 + i].least());
  printf("%-18s %9.3f %5.0f%%", p.name.c_str(), automatic.least() * 1e3, automatic.spread() * 100);
  for (int i = 0; i < n_autoschedulers; i++) printf(" %9.3f %5.0f%%", sides[1 + i].least() * 1e3, sides[1 + i].spread() * 100);
  printf(" %7.2f %6.2f", best / automatic.least(), mine.made_s);
  if (tuned.call) printf(" %9.3f %5.0f%% %7.2f", tuned.least() * 1e3, tuned.spread() * 100, best / tuned.least());
  printf(" %s\n", is_right ? "" : "  WRONG");
  fflush(stdout);
  if (!is_right) return {};
  return {best / automatic.least(), tuned.call ? best / tuned.least() : 0};
}

bool is_wanted(const options &o, const std::string &name) {
  bool wanted = o.patterns.empty();
  for (const std::string &p : o.patterns) wanted |= fnmatch(p.c_str(), name.c_str(), 0) == 0;
  return wanted;
}

options parse(int argc, char **argv) {
  options o;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--height") o.height = atoll(value), i++;
    else if (word == "--width") o.width = atoll(value), i++;
    else if (word == "--seconds") o.seconds = atof(value), i++;
    else if (word == "--target") o.target = value, i++;
    else if (word == "--trials") o.trials = atoi(value), i++;
    else if (word == "--schedules") o.prints_schedules = true;
    else o.patterns.push_back(word);
  }
  return o;
}

} // namespace

int main(int argc, char **argv) {
  options o = parse(argc, argv);
  o.target = with_costs(o.target);
  for (const char *plugin : plugins)
    Halide::load_plugin(std::string(TENON_HALIDE_PLUGINS) + "/libautoschedule_" + plugin + ".so");
  const Halide::Target target = Halide::get_jit_target_from_environment();
  std::vector<pipeline> all = stencil_pipelines();
  for (const pipeline &p : row_pipelines()) all.push_back(p);
  printf("%lld x %lld, Halide for %s\n", (long long)o.height, (long long)o.width, target.to_string().c_str());
  printf("%-18s %9s %6s %16s %16s %16s %7s %6s", "pipeline", "auto", "", "Adams2019", "Mullapudi2016", "Li2018", "ratio", "made");
  if (o.trials > 0) printf(" %16s %7s", "tuned", "ratio");
  printf("   (ms, least; spread; s to make auto)\n");
  double logs = 0, tuned_logs = 0;
  int n = 0, failed = 0;
  for (const pipeline &p : all) {
    if (!is_wanted(o, p.name)) continue;
    try {
      const outcome found = compare(p, o, target);
      if (found.ratio > 0) logs += std::log(found.ratio), n++;
      if (found.tuned_ratio > 0) tuned_logs += std::log(found.tuned_ratio);
      failed += found.ratio <= 0;
    } catch (const std::exception &e) {
      printf("%-18s failed: %s\n", p.name.c_str(), e.what());
      failed++;
    }
  }
  if (n > 0) printf("geometric mean of %d: %.2f times Halide's best\n", n, std::exp(logs / n));
  if (n > 0 && o.trials > 0) printf("tuned: %.2f times\n", std::exp(tuned_logs / n));
  return failed > 0;
}
