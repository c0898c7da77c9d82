#include "bindings/direct_draws.h"

#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "bindings/draws.h"
#include "bindings/python_random.h"
#include "cpython/numpy_api.h"
#include "cpython/ref.h"

namespace fw::bindings {

using capture::LibraryArgument;
using capture::LibraryCall;
using cpython::checked;
using cpython::Ref;

namespace {

enum class How : uint8_t {
  kUniform,   ///< from [0, 1)
  kPlain,     ///< double f(bitgen_t*)
  kScale,     ///< double f(bitgen_t*, scale), which is not negative
  kLocScale,  ///< double f(bitgen_t*, location, scale)
  kRange,     ///< double f(bitgen_t*, low, high - low)
  kRate,      ///< int64_t f(bitgen_t*, rate)
  kIntegers,  ///< random_bounded_uint64_fill: from [low, high), or from [0, low)
  kMasked,    ///< the same by another method, which the legacy generator has
  kBits,      ///< k bits of a random.Random
};

}  // namespace

struct DirectDraw::Row {
  std::string_view method;
  How how;
  const char* function;
  const char* names[2];  ///< of the parameters
  double otherwise[2];   ///< what they are if they are not given
  void* own = nullptr;   ///< in place of a function of NumPy's that cannot be found
  bool pairs = false;    ///< draws two numbers at a time, of which the source keeps one
};

namespace {

/// By the polar method of Marsaglia.
double legacyNormal(bitgen_t* source) {
  LegacySource& own = *LegacySource::of(source);
  if (std::exchange(own.hasNormal, 0)) return std::exchange(own.normal, 0.0);
  double x, y, square;
  do {
    x = 2.0 * source->next_double(source->state) - 1.0;
    y = 2.0 * source->next_double(source->state) - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  own.normal = factor * x;
  own.hasNormal = 1;
  return factor * y;
}

double legacyLocScale(bitgen_t* source, double location, double scale) {
  return location + scale * legacyNormal(source);
}

double legacyExponential(bitgen_t* source, double scale) {
  return scale * -std::log(1.0 - source->next_double(source->state));
}

template <typename F>
void* addressOf(F* function) {
  return reinterpret_cast<void*>(function);
}

constexpr double kMostRate = 1e9;
constexpr char kBounded[] = "random_bounded_uint64_fill";
const DirectDraw::Row kDrawRows[] = {
    {"Random.random", How::kUniform, nullptr, {}, {}},
    {"Random.getrandbits", How::kBits, nullptr, {"k"}, {}},
    {"RandomState.standard_normal", How::kPlain, nullptr, {}, {}, addressOf(legacyNormal), true},
    {"RandomState.randn", How::kPlain, nullptr, {}, {}, addressOf(legacyNormal), true},
    {"RandomState.normal", How::kLocScale, nullptr, {"loc", "scale"}, {0, 1}, addressOf(legacyLocScale), true},
    {"RandomState.exponential", How::kScale, nullptr, {"scale"}, {1}, addressOf(legacyExponential)},
    {"Generator.random", How::kUniform, nullptr, {}, {}},
    {"RandomState.random", How::kUniform, nullptr, {}, {}},
    {"RandomState.random_sample", How::kUniform, nullptr, {}, {}},
    {"RandomState.rand", How::kUniform, nullptr, {}, {}},
    {"Generator.standard_normal", How::kPlain, "random_standard_normal", {}, {}},
    {"Generator.standard_exponential", How::kPlain, "random_standard_exponential", {}, {}},
    {"Generator.standard_cauchy", How::kPlain, "random_standard_cauchy", {}, {}},
    {"Generator.exponential", How::kScale, "random_exponential", {"scale"}, {1}},
    {"Generator.rayleigh", How::kScale, "random_rayleigh", {"scale"}, {1}},
    {"Generator.normal", How::kLocScale, "random_normal", {"loc", "scale"}, {0, 1}},
    {"Generator.laplace", How::kLocScale, "random_laplace", {"loc", "scale"}, {0, 1}},
    {"Generator.logistic", How::kLocScale, "random_logistic", {"loc", "scale"}, {0, 1}},
    {"Generator.gumbel", How::kLocScale, "random_gumbel", {"loc", "scale"}, {0, 1}},
    {"Generator.lognormal", How::kLocScale, "random_lognormal", {"mean", "sigma"}, {0, 1}},
    {"Generator.uniform", How::kRange, "random_uniform", {"low", "high"}, {0, 1}},
    {"RandomState.uniform", How::kRange, "random_uniform", {"low", "high"}, {0, 1}},
    {"Generator.poisson", How::kRate, "random_poisson", {"lam"}, {1}},
    {"Generator.integers", How::kIntegers, kBounded, {"low", "high"}, {}},
    {"RandomState.randint", How::kMasked, kBounded, {"low", "high"}, {}},
};

bool fromRange(How how) { return how == How::kIntegers || how == How::kMasked; }
std::string_view classOf(const DirectDraw::Row& row) { return row.method.substr(0, row.method.find('.')); }
bool isWhole(How how) { return fromRange(how) || how == How::kRate || how == How::kBits; }

/// A function of the library of Generator; that of RandomState has the same ones inside.
void* functionOf(const DirectDraw::Row& row) {
  const Ref module = checked(PyImport_ImportModule("numpy.random._generator"));
  const Ref file = checked(PyObject_GetAttrString(module.get(), "__file__"));
  const char* path = PyUnicode_Check(file.get()) ? PyUnicode_AsUTF8(file.get()) : nullptr;
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;  // never closed: it is there as long as Python
  return library ? dlsym(library, row.function) : nullptr;
}

/// A constant, or an operand; nullopt where the argument is something else.
std::optional<DirectDraw::Parameter> parameterOf(const LibraryArgument& argument) {
  DirectDraw::Parameter parameter;
  switch (argument.kind) {
    case LibraryArgument::Kind::kFloat:
    case LibraryArgument::Kind::kInt:
    case LibraryArgument::Kind::kScalar: parameter.operand = argument.index; return parameter;
    case LibraryArgument::Kind::kConstant: break;
    default: return std::nullopt;
  }
  PyObject* object = argument.object.get();
  if (PyFloat_CheckExact(object)) {
    parameter.real = PyFloat_AS_DOUBLE(object);
    return parameter;
  }
  if (!PyLong_CheckExact(object)) return std::nullopt;
  int overflow = 0;
  parameter.whole = PyLong_AsLongLongAndOverflow(object, &overflow);
  parameter.real = static_cast<double>(parameter.whole);
  parameter.isWhole = true;
  return overflow ? std::nullopt : std::optional(parameter);
}

bool read(DirectDraw::Parameter& parameter, const runtime::Calls::Frame& frame) {
  if (parameter.operand < 0) return true;
  const runtime::CallArray number = frame.operand(static_cast<size_t>(parameter.operand));
  if (number.dtype == graph::DType::kF64) {
    parameter.real = *static_cast<const double*>(number.data);
    return true;
  }
  if (number.dtype != graph::DType::kI64) return false;
  parameter.whole = *static_cast<const int64_t*>(number.data);
  parameter.real = static_cast<double>(parameter.whole);
  return parameter.isWhole = true;
}

}  // namespace

bool DirectDraw::fits(const Parameter& first, const Parameter& second) const {
  const double a = first.real, b = second.real;
  switch (row_->how) {
    case How::kUniform:
    case How::kPlain: return true;
    case How::kBits: return first.isWhole && first.whole >= 1 && first.whole <= 62;
    case How::kScale: return !std::isnan(a) && !std::signbit(a);
    case How::kRate: return a > 0 && a < kMostRate;
    case How::kLocScale: return !std::isnan(b) && !std::signbit(b);
    case How::kRange: return std::isfinite(b - a) && !std::signbit(b - a);
    case How::kIntegers:
    case How::kMasked: break;
  }
  return first.isWhole && second.isWhole && first.whole < second.whole;
}

/// Numbers that come in pairs need a source that keeps the second one.
bool DirectDraw::isKnownTo(bitgen_t* source) const { return !row_->pairs || LegacySource::of(source) != nullptr; }

bool DirectDraw::drawWith(bitgen_t* source, const Parameter& first, const Parameter& second, void* out) const {
  if (!fits(first, second) || !isKnownTo(source)) return false;
  const double a = first.real, b = second.real;
  auto* number = static_cast<double*>(out);
  switch (row_->how) {
    case How::kUniform: *number = source->next_double(source->state); return true;
    case How::kPlain: *number = reinterpret_cast<double (*)(bitgen_t*)>(function_)(source); return true;
    case How::kScale: *number = reinterpret_cast<double (*)(bitgen_t*, double)>(function_)(source, a); return true;
    case How::kRate:
      *static_cast<int64_t*>(out) = reinterpret_cast<int64_t (*)(bitgen_t*, double)>(function_)(source, a);
      return true;
    case How::kLocScale:
      *number = reinterpret_cast<double (*)(bitgen_t*, double, double)>(function_)(source, a, b);
      return true;
    case How::kRange:
      *number = reinterpret_cast<double (*)(bitgen_t*, double, double)>(function_)(source, a, b - a);
      return true;
    case How::kBits: *static_cast<int64_t*>(out) = python_random::bits(source, first.whole); return true;
    case How::kIntegers:
    case How::kMasked: break;
  }
  using Fill = void (*)(bitgen_t*, uint64_t, uint64_t, npy_intp, bool, uint64_t*);
  const auto low = static_cast<uint64_t>(first.whole), range = static_cast<uint64_t>(second.whole) - 1 - low;
  reinterpret_cast<Fill>(function_)(source, low, range, 1, row_->how == How::kMasked, static_cast<uint64_t*>(out));
  return true;
}

runtime::CallShortcut DirectDraw::shortcut(bitgen_t* source, Whole& kept) const {
  const auto [first, second] = parameters_;
  if (hasOperands() || !fits(first, second) || !isKnownTo(source)) return {};
  switch (row_->how) {
    case How::kUniform: return {reinterpret_cast<void*>(source->next_double), source->state};
    case How::kPlain: return {function_, source};
    case How::kScale: return {function_, source, {first.real}};
    case How::kLocScale: return {function_, source, {first.real, second.real}};
    case How::kRange: return {function_, source, {first.real, second.real - first.real}};
    case How::kRate:
    case How::kBits:
    case How::kIntegers:
    case How::kMasked: break;
  }
  kept = {this, source};
  int64_t (*draw)(void*) = [](void* given) {
    const Whole& whole = *static_cast<const Whole*>(given);
    int64_t number = 0;
    whole.direct->drawWith(whole.source, whole.direct->parameters_[0], whole.direct->parameters_[1], &number);
    return number;
  };
  return {reinterpret_cast<void*>(draw), &kept};
}

bool DirectDraw::draw(bitgen_t* source, const runtime::Calls::Frame& frame, void* out) const {
  std::array<Parameter, 2> given = parameters_;
  return read(given[0], frame) && read(given[1], frame) && drawWith(source, given[0], given[1], out);
}

namespace {

/// The method and the function draw the same numbers, from generators in the same state: it is what the method calls,
/// and calls in this way.
bool agree(const DirectDraw::Row& row, const DirectDraw& direct) {
  const bool python = classOf(row) == "Random";
  const Ref random = checked(PyImport_ImportModule(python ? "random" : "numpy.random"));
  const std::string maker(classOf(row) == "Generator" ? "default_rng" : classOf(row));
  const auto make = [&] { return checked(PyObject_CallMethod(random.get(), maker.c_str(), "i", 29)); };
  const Ref one = make(), other = make();
  std::unique_ptr<bitgen_t> own;
  bitgen_t* source = sourceIn(other.get(), bitGeneratorOf(other.get()).get(), own);
  if (!source) return false;
  const std::string method(row.method.substr(row.method.find('.') + 1));
  for (int i = 0; i < 40; ++i) {
    DirectDraw::Parameter a{.real = 0.25}, b{.real = 1.5};
    if (fromRange(row.how)) a = {.whole = -3, .isWhole = true}, b = {.whole = int64_t{1} << (i + 1), .isWhole = true};
    const bool single = row.how == How::kScale || row.how == How::kRate;
    if (single) a.real = 1.5;
    if (row.how == How::kBits) a = {.whole = 1 + i * 61 / 39, .isWhole = true};
    const Ref answer = row.how == How::kBits ? checked(PyObject_CallMethod(one.get(), method.c_str(), "L", a.whole))
                       : row.how == How::kUniform || row.how == How::kPlain
                           ? checked(PyObject_CallMethod(one.get(), method.c_str(), nullptr))
                       : single ? checked(PyObject_CallMethod(one.get(), method.c_str(), "d", a.real))
                       : fromRange(row.how)
                           ? checked(PyObject_CallMethod(one.get(), method.c_str(), "LL", a.whole, b.whole))
                           : checked(PyObject_CallMethod(one.get(), method.c_str(), "dd", a.real, b.real));
    union {
      double real;
      int64_t whole;
    } drawn = {};
    if (!direct.drawWith(source, a, b, &drawn)) return false;
    if (isWhole(row.how)) {
      const Ref index = checked(PyNumber_Index(answer.get()));
      if (PyLong_AsLongLong(index.get()) != drawn.whole) return false;
    } else if (!PyFloat_Check(answer.get()) || PyFloat_AS_DOUBLE(answer.get()) != drawn.real) {
      return false;
    }
  }
  const Ref last = checked(PyObject_CallMethod(one.get(), "random", nullptr));
  return PyFloat_Check(last.get()) && PyFloat_AS_DOUBLE(last.get()) == source->next_double(source->state);
}

/// What is known of the functions of the rows. Guarded by the GIL.
struct Known {
  bool looked = false;
  bool good = false;
  void* function = nullptr;
};

bool isNone(const LibraryArgument* argument) {
  return argument && argument->kind == LibraryArgument::Kind::kConstant && argument->object.get() == Py_None;
}

}  // namespace

bool DirectDraw::findFunction() {
  static Known known[std::size(kDrawRows)];
  Known& found = known[row_ - kDrawRows];
  if (!std::exchange(found.looked, true)) {
    try {
      function_ = found.function = row_->function ? functionOf(*row_) : row_->own;
      found.good = (found.function || !row_->function) && agree(*row_, *this);
    } catch (const cpython::PythonError&) {
      PyErr_Clear();
    }
  }
  function_ = found.function;
  return found.good;
}

bool DirectDraw::findParameters(const LibraryCall& site) {
  const LibraryArgument* given[2] = {};
  const size_t most = row_->names[0] == nullptr ? 0 : row_->names[1] == nullptr ? 1 : 2;
  if (site.positional.size() > 1 + most) return false;
  for (size_t i = 1; i < site.positional.size(); ++i) given[i - 1] = &site.positional[i];
  for (const auto& [name, argument] : site.keywords) {
    const char* text = PyUnicode_AsUTF8(name.get());
    size_t at = 0;
    while (at < most && (!text || std::strcmp(text, row_->names[at]) != 0)) ++at;
    if (at < most) given[at] = &argument;
    if (at == most && !isNone(&argument)) return false;
  }
  for (size_t i = 0; i < most; ++i) {
    parameters_[i].real = row_->otherwise[i];
    if (!given[i] || (isNone(given[i]) && fromRange(row_->how))) continue;
    const auto parameter = parameterOf(*given[i]);
    if (!parameter) return false;
    parameters_[i] = *parameter;
  }
  const bool one = fromRange(row_->how) && parameters_[1].operand < 0 && !parameters_[1].isWhole;
  if (one) parameters_ = {Parameter{.isWhole = true}, parameters_[0]};
  return true;
}

std::optional<DirectDraw> DirectDraw::of(const LibraryCall& site) {
  if (site.direct != LibraryCall::Direct::kDraw) return std::nullopt;
  DirectDraw draw;
  draw.row_ =
      std::find_if(std::begin(kDrawRows), std::end(kDrawRows), [&](const Row& r) { return r.method == site.method; });
  if (draw.row_ == std::end(kDrawRows) || !draw.findFunction() || !draw.findParameters(site)) return std::nullopt;
  return draw;
}

}  // namespace fw::bindings
