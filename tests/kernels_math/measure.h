// Measures a function of kernels/math.h against its true value.
#pragma once

#include <mpfr.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "evaluator.h"
#include "graph/symint.h"
#include "kernels/math.h"

namespace fw::kernels::testing {

/// One function of the library with its references.
struct Subject {
  std::string name;
  int arity;
  std::function<Val(KernelBuilder&, Val, Val)> build;
  std::function<void(mpfr_t, const mpfr_t, const mpfr_t)> exact;
  std::function<double(double, double)> libm64;
  std::function<float(float, float)> libm32;
};
const std::vector<Subject>& subjects();
const Subject& subject(const std::string& name);

/// A subject built for one type.
class Compiled {
 public:
  Compiled(const Subject& subject, DType type);
  void run(const uint64_t* x, const uint64_t* y, uint64_t* out, int n);
  /// IEEE flags of the run (as kStatus bits 1, 2, 4) together with the status bits raised.
  uint64_t runWithStatus(const uint64_t* x, const uint64_t* y, uint64_t* out, int n);
  int operationCount() const { return evaluator_->operationCount(); }
  DType type() const { return type_; }
  const Subject& subject() const { return subject_; }
  const Kernel& kernel() const { return *kernel_; }
  const graph::SymContext& syms() const { return syms_; }

 private:
  const Subject& subject_;
  DType type_;
  graph::SymContext syms_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Evaluator> evaluator_;
};

struct Range {
  double lo, hi;  ///< both of one sign: spread by exponent (log-uniform); otherwise uniform
};
struct Accuracy {
  double maxUlp = 0;
  double worstX = 0, worstY = 0;
  uint64_t status = 0;  ///< flags of all points together
  long count = 0;
};
/// n points of the range(s), fixed seed. The true value comes from MPFR for f64 and from the double C library for f32.
Accuracy measure(Compiled& f, Range x, Range y, int n);

struct Point {
  double x, y = 0;
};
/// The same for points that the caller chooses.
Accuracy measurePoints(Compiled& f, int n, const std::function<Point(int)>& point);

/// Raw bits of v as type t, and back.
uint64_t pack(DType t, double v);
double unpack(DType t, uint64_t bits);

/// Distance of got from the true value in units of the last place of the true value.
double ulpError64(double got, const mpfr_t exact);
double ulpError32(float got, double exact);

}  // namespace fw::kernels::testing
