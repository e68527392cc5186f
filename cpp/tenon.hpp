/* tenon/tenon.hpp: Tenon in C++17. A thin skin over the C interface, all in this header: operators build expressions, what
 * fails throws tenon::error with the context's message, and what C frees by hand goes with its owner. The words are those
 * of C without tn_; what has no word here is called with the pointers that these objects turn into.
 *
 *     tenon::context ctx;
 *     auto i = ctx.axis("i", 256), j = ctx.axis("j", 256), k = ctx.reduce_axis("k", 256);
 *     auto A = ctx.placeholder("A", TN_F32, {256, 256}), B = ctx.placeholder("B", TN_F32, {256, 256});
 *     auto C = ctx.compute("C", sum(A(i, k) * B(k, j), k), i, j);
 *
 * A context comes first and goes last: nothing made from it may be used after it. Axes, tensors, expressions and programs
 * belong to it and are copied freely; schedules, kernels and arrays have one owner and can be moved. */
#ifndef TENON_TENON_HPP
#define TENON_TENON_HPP

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/tenon.h>

namespace tenon {

/* ---- failing ------------------------------------------------------------------------------------------------------ */

class error : public std::runtime_error {
public:
  error(tn_status status, const std::string &message) : std::runtime_error(message), status_(status) {}
  tn_status status() const noexcept { return status_; }

private:
  tn_status status_;
};

namespace detail {

/* Throws what the context says and clears it, so that the next call starts afresh. */
[[noreturn]] inline void fail(tn_context *ctx) {
  error e(tn_context_status(ctx), tn_context_message(ctx));
  tn_context_clear(ctx);
  throw e;
}

template <class T> T *check(tn_context *ctx, T *made) { return made ? made : (fail(ctx), nullptr); }
inline void check(tn_context *ctx, tn_status status) {
  if (status != TN_OK) fail(ctx);
}

template <auto Free> struct freer {
  template <class T> void operator()(T *p) const { Free(p); }
};
template <class T, auto Free> using owner = std::unique_ptr<T, freer<Free>>;

/* Takes malloc'ed text. */
inline std::string text(tn_context *ctx, char *from) {
  owner<char, std::free> kept(check(ctx, from));
  return kept.get();
}

inline std::vector<const char *> pointers(const std::vector<std::string> &names) {
  std::vector<const char *> out;
  for (const std::string &name : names) out.push_back(name.c_str());
  return out;
}

} // namespace detail

/* ---- expressions -------------------------------------------------------------------------------------------------- */

class axis {
public:
  axis(tn_context *ctx, tn_axis *raw) : ctx_(ctx), raw_(raw) {}
  operator tn_axis *() const { return raw_; }
  tn_context *context() const { return ctx_; }

private:
  tn_context *ctx_;
  tn_axis *raw_;
};

/* An expression, an axis or a number: what operators and indices take. A number has no context. */
class expr {
public:
  expr(tn_context *ctx, tn_expr *raw) : ctx_(ctx), arg_(tn_arg_expr(raw)) {}
  expr(const axis &a) : ctx_(a.context()), arg_(tn_arg_axis(a)) {}
  template <class N, std::enable_if_t<std::is_arithmetic_v<N>, int> = 0>
  expr(N n) : ctx_(nullptr), arg_(number(n)) {}
  tn_arg arg() const { return arg_; }
  tn_context *context() const { return ctx_; }
  tn_expr *get() const { return arg_.kind == TN_ARG_EXPR ? arg_.u.expr : nullptr; }

private:
  template <class N> static tn_arg number(N n) {
    if constexpr (std::is_floating_point_v<N>) return tn_arg_float(n);
    else return tn_arg_int(static_cast<int64_t>(n));
  }
  tn_context *ctx_;
  tn_arg arg_;
};

namespace detail {

template <class F> expr made(const std::vector<expr> &from, F make) {
  std::vector<tn_arg> args;
  tn_context *ctx = nullptr;
  for (const expr &e : from) {
    args.push_back(e.arg());
    if (!ctx) ctx = e.context();
  }
  if (!ctx) throw error(TN_ERROR_ARGUMENT, "an expression of numbers alone: give it an axis or a tensor's element");
  return {ctx, check(ctx, make(static_cast<int>(args.size()), args.data()))};
}

inline expr apply(const char *op, const std::vector<expr> &operands) {
  return made(operands, [op](int n, const tn_arg *args) { return tn_operator(op, n, args); });
}

/* Operators take part where one side is an expression or an axis. */
template <class T> constexpr bool is_term = std::is_same_v<T, expr> || std::is_same_v<T, axis>;
template <class A, class B>
using operands = std::enable_if_t<(is_term<A> || is_term<B>)&&std::is_convertible_v<A, expr> && std::is_convertible_v<B, expr>,
                                  expr>;

} // namespace detail

#define TENON_INFIX(op)                                                                   \
  template <class A, class B> detail::operands<A, B> operator op(const A &a, const B &b) { \
    return detail::apply(#op, {expr(a), expr(b)});                                        \
  }
TENON_INFIX(+)
TENON_INFIX(-)
TENON_INFIX(*)
TENON_INFIX(/) /* of floats; two integers are refused: floordiv */
TENON_INFIX(%) /* rounds down, as floordiv does */
TENON_INFIX(==)
TENON_INFIX(!=)
TENON_INFIX(<)
TENON_INFIX(<=)
TENON_INFIX(>)
TENON_INFIX(>=)
TENON_INFIX(&&) /* both sides are built; the kernel evaluates the right one where the left one is true */
TENON_INFIX(||)
TENON_INFIX(&)
TENON_INFIX(|)
TENON_INFIX(^)
TENON_INFIX(<<)
TENON_INFIX(>>)
#undef TENON_INFIX
inline expr operator-(const expr &a) { return detail::apply("neg", {a}); }
inline expr operator!(const expr &a) { return detail::apply("!", {a}); }
inline expr operator~(const expr &a) { return detail::apply("~", {a}); }

/* Any function of the language by its name: call("atan2", x, y). */
template <class... E> expr call(const char *function, const E &...operands) {
  return detail::apply(function, {expr(operands)...});
}
inline expr floordiv(const expr &a, const expr &b) { return call("//", a, b); }
inline expr min(const expr &a, const expr &b) { return call("min", a, b); }
inline expr max(const expr &a, const expr &b) { return call("max", a, b); }
inline expr pow(const expr &a, const expr &b) { return call("pow", a, b); }
inline expr select(const expr &c, const expr &a, const expr &b) { return call("select", c, a, b); }
inline expr exp(const expr &a) { return call("exp", a); }
inline expr log(const expr &a) { return call("log", a); }
inline expr sqrt(const expr &a) { return call("sqrt", a); }
inline expr tanh(const expr &a) { return call("tanh", a); }
inline expr sigmoid(const expr &a) { return call("sigmoid", a); }
inline expr cast(tn_dtype dtype, const expr &a) {
  return detail::made({a}, [dtype](int, const tn_arg *arg) { return tn_cast_arg(dtype, *arg); });
}

/* combiner: "sum", "prod", "max", "min", "any", "all", "argmax", "argmin". */
template <class... A> expr reduce(const char *combiner, const expr &source, const A &...axes) {
  return detail::made({source, expr(axes)...},
                      [combiner](int n, const tn_arg *args) { return tn_reduction(combiner, n, args); });
}
template <class... A> expr sum(const expr &source, const A &...axes) { return reduce("sum", source, axes...); }
template <class... A> expr prod(const expr &source, const A &...axes) { return reduce("prod", source, axes...); }
template <class... A> expr max_over(const expr &source, const A &...axes) { return reduce("max", source, axes...); }
template <class... A> expr min_over(const expr &source, const A &...axes) { return reduce("min", source, axes...); }

/* A(i, k) is an element. */
class tensor {
public:
  tensor(tn_context *ctx, tn_tensor *raw) : ctx_(ctx), raw_(raw) {}
  operator tn_tensor *() const { return raw_; }
  template <class... I> expr operator()(const I &...indices) const {
    const tn_arg args[] = {tn_arg_tensor(raw_), expr(indices).arg()...};
    return {ctx_, detail::check(ctx_, tn_at_array(1 + static_cast<int>(sizeof...(I)), args))};
  }
  std::string name() const { return tn_tensor_name(raw_); }
  std::vector<int64_t> shape() const {
    return {tn_tensor_shape(raw_), tn_tensor_shape(raw_) + tn_tensor_rank(raw_)};
  }

private:
  tn_context *ctx_;
  tn_tensor *raw_;
};

/* ---- arrays and kernels ------------------------------------------------------------------------------------------- */

/* Zeros at first, row after row, 64-byte aligned. */
class array {
public:
  array(tn_context *ctx, tn_dtype dtype, const std::vector<int64_t> &shape)
      : ctx_(ctx), dtype_(dtype),
        raw_(detail::check(ctx, tn_array_new(ctx, dtype, static_cast<int>(shape.size()), shape.data()))) {}
  operator DLTensor *() const { return raw_.get(); }
  DLTensor *get() const { return raw_.get(); }
  /* T's size has to be the element's. */
  template <class T> T *data() const {
    if (sizeof(T) != tn_dtype_bytes(dtype_))
      throw error(TN_ERROR_ARGUMENT, "array::data: an element is " + std::string(tn_dtype_name(dtype_)) + " of " +
                                         std::to_string(tn_dtype_bytes(dtype_)) + " bytes: ask for a type of that size, not " +
                                         std::to_string(sizeof(T)));
    return static_cast<T *>(raw_->data);
  }
  size_t bytes() const { return tn_array_bytes(raw_.get()); }
  array &fill(uint64_t seed) {
    detail::check(ctx_, tn_array_fill(ctx_, raw_.get(), seed));
    return *this;
  }

private:
  tn_context *ctx_;
  tn_dtype dtype_;
  detail::owner<DLTensor, tn_array_free> raw_;
};

/* kernel(a, b, c) runs it: inputs, then outputs. */
class kernel {
public:
  kernel(tn_context *ctx, tn_kernel *raw) : ctx_(ctx), raw_(raw) {}
  operator tn_kernel *() const { return raw_.get(); }
  template <class... T> void operator()(const T &...arrays) const {
    DLTensor *const args[] = {static_cast<DLTensor *>(arrays)...};
    detail::check(ctx_, tn_call(ctx_, raw_.get(), args, static_cast<int>(sizeof...(T))));
  }

private:
  tn_context *ctx_;
  detail::owner<tn_kernel, tn_kernel_free> raw_;
};

/* ---- schedules ---------------------------------------------------------------------------------------------------- */

/* Primitives return the schedule, so that they chain; one that is refused throws and leaves it as it was. */
class schedule {
public:
  schedule(tn_context *ctx, tn_schedule *raw) : ctx_(ctx), raw_(raw) {}
  operator tn_schedule *() const { return raw_.get(); }

  /* Any primitives as text: apply("rfactor(C, k.outer); parallel(C, i)"). */
  schedule &apply(const std::string &text) { return done(tn_schedule_apply(raw_.get(), text.c_str())); }
  schedule &split(const std::string &stage, const std::string &axis, int64_t factor, tn_tail tail = TN_TAIL_GUARD) {
    return done(tn_split(raw_.get(), stage.c_str(), axis.c_str(), factor, tail));
  }
  schedule &tile(const std::string &stage, const std::string &a, const std::string &b, int64_t factor_a, int64_t factor_b,
                 tn_tail tail = TN_TAIL_GUARD) {
    return done(tn_tile(raw_.get(), stage.c_str(), a.c_str(), b.c_str(), factor_a, factor_b, tail));
  }
  schedule &reorder(const std::string &stage, const std::vector<std::string> &axes) {
    const auto names = detail::pointers(axes);
    return done(tn_reorder_names(raw_.get(), stage.c_str(), static_cast<int>(names.size()), names.data()));
  }
  schedule &fuse(const std::string &stage, const std::vector<std::string> &axes) {
    const auto names = detail::pointers(axes);
    return done(tn_fuse_names(raw_.get(), stage.c_str(), static_cast<int>(names.size()), names.data()));
  }
  schedule &vectorize(const std::string &stage, const std::string &axis) {
    return done(tn_vectorize(raw_.get(), stage.c_str(), axis.c_str()));
  }
  schedule &unroll(const std::string &stage, const std::string &axis) {
    return done(tn_unroll(raw_.get(), stage.c_str(), axis.c_str()));
  }
  schedule &parallel(const std::string &stage, const std::string &axis) {
    return done(tn_parallel(raw_.get(), stage.c_str(), axis.c_str()));
  }
  schedule &compute_at(const std::string &stage, const std::string &target, const std::string &axis) {
    return done(tn_compute_at(raw_.get(), stage.c_str(), target.c_str(), axis.c_str()));
  }
  schedule &compute_inline(const std::string &stage) { return done(tn_compute_inline(raw_.get(), stage.c_str())); }

  std::string print(tn_form form = TN_FORM_TIR) const { return detail::text(ctx_, tn_schedule_print(raw_.get(), form)); }
  kernel build(const tn_build_options *options = nullptr) const {
    return {ctx_, detail::check(ctx_, tn_build(raw_.get(), options))};
  }

private:
  schedule &done(tn_status status) {
    detail::check(ctx_, status);
    return *this;
  }
  tn_context *ctx_;
  detail::owner<tn_schedule, tn_schedule_free> raw_;
};

class program {
public:
  program(tn_context *ctx, tn_program *raw) : ctx_(ctx), raw_(raw) {}
  operator tn_program *() const { return raw_; }
  tenon::schedule schedule() const { return {ctx_, detail::check(ctx_, tn_schedule_new(raw_))}; }
  std::string text() const { return detail::check(ctx_, tn_program_text(raw_)); }
  double flops() const { return tn_program_flops(raw_); }

private:
  tn_context *ctx_;
  tn_program *raw_;
};

/* ---- contexts ----------------------------------------------------------------------------------------------------- */

class context {
public:
  explicit context(const tn_context_options *options = nullptr) : raw_(tn_context_new(options)) {
    if (!raw_) throw std::bad_alloc();
  }
  operator tn_context *() const { return raw_.get(); }

  tenon::axis axis(const std::string &name, int64_t extent) const {
    return {*this, detail::check(*this, tn_axis_new(*this, name.c_str(), extent))};
  }
  tenon::axis reduce_axis(const std::string &name, int64_t extent) const {
    return {*this, detail::check(*this, tn_reduce_axis(*this, name.c_str(), extent))};
  }
  tensor placeholder(const std::string &name, tn_dtype dtype, const std::vector<int64_t> &shape) const {
    std::vector<int64_t> numbers = {dtype};
    numbers.insert(numbers.end(), shape.begin(), shape.end());
    return {*this, detail::check(*this, tn_placeholder_array(*this, name.c_str(), static_cast<int>(numbers.size()),
                                                             numbers.data()))};
  }
  template <class... A> tensor compute(const std::string &name, const expr &body, const A &...axes) const {
    const tn_arg args[] = {body.arg(), expr(axes).arg()...};
    return {*this, detail::check(*this, tn_compute_array(*this, name.c_str(), 1 + static_cast<int>(sizeof...(A)), args))};
  }
  /* The tensors that are its arguments, in this order. */
  tenon::program program(std::initializer_list<tensor> tensors) const {
    std::vector<tn_arg> args;
    for (tn_tensor *t : tensors) args.push_back(tn_arg_tensor(t));
    return {*this, detail::check(*this, tn_program_array(*this, static_cast<int>(args.size()), args.data()))};
  }
  tenon::program parse(const std::string &text) const {
    return {*this, detail::check(*this, tn_program_parse(*this, text.c_str(), 0, nullptr))};
  }
  tenon::array array(tn_dtype dtype, const std::vector<int64_t> &shape) const { return {*this, dtype, shape}; }

private:
  detail::owner<tn_context, tn_context_free> raw_;
};

} // namespace tenon

#endif
